-- The vector of what a statement says, as half floats of a model: for an item that is made of it some time later.
CREATE TABLE stated_vector (
    statement_id BLOB PRIMARY KEY REFERENCES statement ON DELETE CASCADE,
    fingerprint  TEXT NOT NULL,
    half_floats  BLOB NOT NULL
) STRICT;
