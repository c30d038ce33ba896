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
