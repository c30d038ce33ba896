-- One row a run. Times are Unix microseconds, 0 where it has not happened.
CREATE TABLE run (
    run_id        BLOB    PRIMARY KEY,
    firing_id     TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    shard         INTEGER NOT NULL,
    until_us      INTEGER NOT NULL,
    sequence      INTEGER NOT NULL,
    user_ids      TEXT    NOT NULL,
    phases        TEXT    NOT NULL,
    manual        INTEGER NOT NULL,
    planned_after TEXT    NOT NULL,
    started_us    INTEGER NOT NULL,
    finished_us   INTEGER NOT NULL,
    error         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX run_by_firing ON run (firing_id);
CREATE INDEX run_by_sequence ON run (sequence);

CREATE TABLE run_user (
    run_id      BLOB    NOT NULL REFERENCES run (run_id) ON DELETE CASCADE,
    user_id     TEXT    NOT NULL,
    pending     INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    phases      TEXT    NOT NULL,
    phase       INTEGER NOT NULL,
    started_us  INTEGER NOT NULL,
    finished_us INTEGER NOT NULL,
    PRIMARY KEY (run_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_user_by_status ON run_user (run_id, status, pending DESC, user_id);

-- Exists once the phase's batches have been cut.
CREATE TABLE run_phase (
    run_id      BLOB    NOT NULL,
    user_id     TEXT    NOT NULL,
    phase       TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    experiences INTEGER NOT NULL,
    started_us  INTEGER NOT NULL,
    finished_us INTEGER NOT NULL,
    PRIMARY KEY (run_id, user_id, phase),
    FOREIGN KEY (run_id, user_id) REFERENCES run_user (run_id, user_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- `event_ids`: 16 bytes each, in the order of replay.
CREATE TABLE run_batch (
    run_id      BLOB    NOT NULL,
    user_id     TEXT    NOT NULL,
    phase       TEXT    NOT NULL,
    number      INTEGER NOT NULL,
    event_ids   BLOB    NOT NULL,
    status      TEXT    NOT NULL,
    memories    INTEGER NOT NULL,
    unknown     INTEGER NOT NULL,
    sent_us     INTEGER NOT NULL,
    finished_us INTEGER NOT NULL,
    PRIMARY KEY (run_id, user_id, phase, number),
    FOREIGN KEY (run_id, user_id, phase) REFERENCES run_phase (run_id, user_id, phase) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX run_batch_by_user ON run_batch (user_id, run_id, phase, number);
