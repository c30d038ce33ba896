-- Whose long-term memory is paused, and since when: nothing that they say becomes an item.
CREATE TABLE paused (
    owner    TEXT    PRIMARY KEY,
    since_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
