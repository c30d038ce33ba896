-- Messages that a language model has yet to read, where one is configured. What they say stands in their records alone.
CREATE TABLE unread_message (
    event_id     BLOB    PRIMARY KEY,
    owner        TEXT    NOT NULL,
    scope_kind   TEXT    NOT NULL,
    scope_id     TEXT    NOT NULL,
    zone         TEXT    NOT NULL,
    queued_at_us INTEGER NOT NULL,
    next_at_us   INTEGER NOT NULL,
    tries        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX unread_message_due ON unread_message (next_at_us, queued_at_us, event_id);
