-- The phases of sleep: how they read a scope in steps, which pairs they have replayed, and jobs over all owners.

-- Items in use of one owner in one scope, step by step.
CREATE INDEX item_in_use ON memory (owner, scope_no, memory_id) WHERE kind <> 'record' AND status = 'active';

-- Up to which count of retrievals sleep has strengthened a pair.
ALTER TABLE co_activation ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0;

-- A job of sleep over all owners: where it is, and what came of it so far (counts and samples as JSON, without words).
CREATE TABLE sleep_job (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id  BLOB    NOT NULL UNIQUE,
    job       TEXT    NOT NULL,
    firing_id TEXT    NOT NULL,
    at_us     INTEGER NOT NULL,
    -- Only this one; empty: all.
    only_user TEXT    NOT NULL,
    users     INTEGER NOT NULL,
    body      TEXT    NOT NULL
) STRICT;
