-- What a feedback event said before it was edited, so that undo can let it say that again. No words are here: of the text only
-- what it was sorted as, and whether the edit left it alone. A time of 0 in feedback.signalled_us or classified_us: the night had
-- moved preferences, and that was taken back.
CREATE TABLE former_feedback (
    position       INTEGER PRIMARY KEY,
    user_id        TEXT    NOT NULL,
    event_id       BLOB    NOT NULL CHECK (length(event_id) = 16),
    edited_us      INTEGER NOT NULL,
    cause          BLOB    NOT NULL CHECK (length(cause) = 16),
    same_text      INTEGER NOT NULL CHECK (same_text IN (0, 1)),
    reward         INTEGER NOT NULL CHECK (reward BETWEEN -1 AND 1),
    status         TEXT    NOT NULL,
    new_confidence REAL    NOT NULL,
    reason         TEXT    NOT NULL,
    signalled_us   INTEGER,
    categories     TEXT,
    classified_us  INTEGER,
    classified_by  TEXT    NOT NULL,
    text_threshold REAL,
    UNIQUE (user_id, event_id, edited_us, cause)
) STRICT;
