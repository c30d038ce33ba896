-- Up to which feedback the last nightly batch looked, whether a prior was fitted or not: one row at most.
CREATE TABLE batches (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    position INTEGER NOT NULL
) STRICT;
