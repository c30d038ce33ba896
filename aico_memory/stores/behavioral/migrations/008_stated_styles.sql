-- The style that a person has stated for all situations: where the preference of a bucket begins that has none yet.
CREATE TABLE stated_styles (
    user_id    TEXT    NOT NULL PRIMARY KEY,
    dimensions BLOB    NOT NULL CHECK (length(dimensions) = 128)
) STRICT, WITHOUT ROWID;
