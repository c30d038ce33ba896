-- Self-adjustments: what was tried, what became of it, and what a rollback restores.
CREATE TABLE adjustments (
    position      INTEGER PRIMARY KEY,
    adjustment_id TEXT    NOT NULL UNIQUE,
    subject       TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('refused', 'proposed', 'applied', 'replaced', 'rolled_back')),
    at_us         INTEGER NOT NULL,
    body          TEXT    NOT NULL
) STRICT;
CREATE INDEX adjustments_by_subject ON adjustments (subject, position);

-- What people decided of what waited: no text, nobody's name.
CREATE TABLE review_labels (
    memory_id  BLOB    PRIMARY KEY CHECK (length(memory_id) = 16),
    at_us      INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    confidence REAL    NOT NULL,
    promoted   INTEGER NOT NULL CHECK (promoted IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX review_labels_by_time ON review_labels (at_us);

-- Features of the rows that stood first in an answer, and which of them were judged to have helped; no text.
CREATE TABLE ranking_labels (
    position INTEGER PRIMARY KEY,
    label_id TEXT    NOT NULL UNIQUE,
    owner    TEXT    NOT NULL,
    at_us    INTEGER NOT NULL,
    names    TEXT    NOT NULL,
    rows     BLOB    NOT NULL,
    kinds    TEXT    NOT NULL,
    tiers    TEXT    NOT NULL,
    helped   TEXT    NOT NULL,
    refused  TEXT    NOT NULL
) STRICT;
