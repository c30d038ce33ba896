-- What a durable consumer keeps beside its effects, in every database.

-- The last applied record. The epoch is an unsigned 64-bit number, so it stands as 8 bytes.
CREATE TABLE bus_cursor (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    epoch           BLOB    NOT NULL,
    global_sequence INTEGER NOT NULL
) STRICT;

-- Records to publish after the commit, until the bus has acknowledged them.
CREATE TABLE bus_outbox (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id BLOB    NOT NULL UNIQUE,
    topic    TEXT    NOT NULL,
    user_id  TEXT    NOT NULL,
    envelope BLOB    NOT NULL
) STRICT;

-- Attempts to apply an event that has failed or killed its consumer before.
CREATE TABLE bus_attempts (
    event_id BLOB    PRIMARY KEY,
    attempts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
