-- Up to where each job's firings have been planned, and under which expression.
CREATE TABLE job_mark (
    job          TEXT    PRIMARY KEY,
    expression   TEXT    NOT NULL,
    zone         TEXT    NOT NULL,
    evaluated_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a firing. Times are Unix microseconds, 0 where it has not happened.
CREATE TABLE firing (
    firing_id   BLOB    PRIMARY KEY,
    job         TEXT    NOT NULL,
    planned_us  INTEGER NOT NULL,
    outcome     TEXT    NOT NULL CHECK (outcome IN ('planned', 'fired', 'done', 'failed', 'missed')),
    fired_us    INTEGER NOT NULL,
    finished_us INTEGER NOT NULL,
    manual      INTEGER NOT NULL,
    missed      INTEGER NOT NULL,
    since_us    INTEGER NOT NULL,
    detail      TEXT    NOT NULL,
    user_ids    TEXT    NOT NULL,
    phases      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX firing_by_time ON firing (planned_us, firing_id);
CREATE INDEX firing_by_job ON firing (job, planned_us, firing_id);
CREATE INDEX firing_open ON firing (planned_us, firing_id) WHERE outcome IN ('planned', 'fired') AND finished_us = 0;
