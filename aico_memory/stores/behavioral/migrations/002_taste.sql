-- What the style posterior learns from, the common prior, undo, and hourly figures.

-- Thumbs of a person by situation and skill; weighted counts.
CREATE TABLE taste_cells (
    user_id     TEXT NOT NULL,
    intent      TEXT NOT NULL,
    sentiment   TEXT NOT NULL,
    time_of_day TEXT NOT NULL,
    skill_id    TEXT NOT NULL,
    positive    REAL NOT NULL CHECK (positive >= 0),
    negative    REAL NOT NULL CHECK (negative >= 0),
    PRIMARY KEY (user_id, intent, sentiment, time_of_day, skill_id)
) STRICT, WITHOUT ROWID;

-- How often a person wished more, and less, of a style dimension.
CREATE TABLE wishes (
    user_id   TEXT NOT NULL,
    dimension TEXT NOT NULL,
    more      REAL NOT NULL CHECK (more >= 0),
    less      REAL NOT NULL CHECK (less >= 0),
    PRIMARY KEY (user_id, dimension)
) STRICT, WITHOUT ROWID;

-- Priors that were learned from many people: sums of at least k of them, and no person's own figures.
CREATE TABLE priors (
    position   INTEGER PRIMARY KEY,
    version    TEXT    NOT NULL UNIQUE,
    fitted_us  INTEGER NOT NULL,
    users      INTEGER NOT NULL,
    thumbs     INTEGER NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('active', 'replaced', 'refused')),
    body       TEXT    NOT NULL,
    evaluation TEXT    NOT NULL
) STRICT;

-- The event that changed what is known of a person last: what was derived from it before is stale.
ALTER TABLE users ADD COLUMN revision TEXT NOT NULL DEFAULT '';

-- The situation a thumb was learned in, so that everything learned can be folded again; when it was taken back.
ALTER TABLE feedback ADD COLUMN intent TEXT NOT NULL DEFAULT '';
ALTER TABLE feedback ADD COLUMN sentiment TEXT NOT NULL DEFAULT '';
ALTER TABLE feedback ADD COLUMN time_of_day TEXT NOT NULL DEFAULT '';
ALTER TABLE feedback ADD COLUMN undone_us INTEGER;
-- When the nightly batch moved preferences by its reason or text.
ALTER TABLE feedback ADD COLUMN signalled_us INTEGER;
CREATE INDEX feedback_unsignalled ON feedback (position) WHERE signalled_us IS NULL AND undone_us IS NULL;

-- Counts of selections and feedback by the hour; no person is named.
CREATE TABLE hours (
    hour_us  INTEGER NOT NULL,
    skill_id TEXT    NOT NULL,
    what     TEXT    NOT NULL,
    count    INTEGER NOT NULL,
    total    REAL    NOT NULL,
    largest  REAL    NOT NULL,
    PRIMARY KEY (hour_us, skill_id, what)
) STRICT, WITHOUT ROWID;

-- With which chance the policy took the skill, for judging another policy by what it would have taken.
ALTER TABLE selections ADD COLUMN propensity REAL NOT NULL DEFAULT 0;
CREATE INDEX selections_by_request ON selections (request_id);
