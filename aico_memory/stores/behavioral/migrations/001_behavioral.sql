-- Skills, selection and learning. Times are Unix microseconds; vectors are 16 little-endian float64.
-- People's words are sealed with their own key before they come here (columns sealed_*).

CREATE TABLE users (
    user_id        TEXT    PRIMARY KEY,
    behavioral     INTEGER NOT NULL CHECK (behavioral IN (0, 1)),
    long_term      INTEGER NOT NULL CHECK (long_term IN (0, 1)),
    feedback_count INTEGER NOT NULL CHECK (feedback_count >= 0)
) STRICT, WITHOUT ROWID;

-- Skills of a user's own; base skills stand in config/behavioral_skills.yaml.
CREATE TABLE user_skills (
    user_id           TEXT    NOT NULL,
    skill_id          TEXT    NOT NULL,
    version           INTEGER NOT NULL,
    sealed_definition BLOB    NOT NULL,
    dimensions        BLOB    NOT NULL,
    status            TEXT    NOT NULL CHECK (status IN ('proposed', 'accepted', 'replaced', 'archived', 'deleted')),
    created_us        INTEGER NOT NULL,
    updated_us        INTEGER NOT NULL,
    PRIMARY KEY (user_id, skill_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_states (
    user_id           TEXT    NOT NULL,
    skill_id          TEXT    NOT NULL,
    confidence        REAL    NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    uses              INTEGER NOT NULL,
    positive          INTEGER NOT NULL,
    negative          INTEGER NOT NULL,
    selected          INTEGER NOT NULL,
    explored          INTEGER NOT NULL,
    explored_positive INTEGER NOT NULL,
    explored_negative INTEGER NOT NULL,
    last_used_us      INTEGER NOT NULL,
    archived_us       INTEGER,
    PRIMARY KEY (user_id, skill_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE posteriors (
    user_id    TEXT    NOT NULL,
    bucket     INTEGER NOT NULL CHECK (bucket BETWEEN 0 AND 99),
    skill_id   TEXT    NOT NULL,
    alpha      REAL    NOT NULL CHECK (alpha > 0),
    beta       REAL    NOT NULL CHECK (beta > 0),
    updated_us INTEGER NOT NULL,
    PRIMARY KEY (user_id, bucket, skill_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE preferences (
    user_id    TEXT    NOT NULL,
    bucket     INTEGER NOT NULL CHECK (bucket BETWEEN 0 AND 99),
    dimensions BLOB    NOT NULL CHECK (length(dimensions) = 128),
    updates    INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    PRIMARY KEY (user_id, bucket)
) STRICT, WITHOUT ROWID;

-- In the order in which they were applied.
CREATE TABLE selections (
    position       INTEGER PRIMARY KEY,
    user_id        TEXT    NOT NULL,
    request_id     TEXT    NOT NULL,
    event_id       BLOB    NOT NULL,
    at_us          INTEGER NOT NULL,
    bucket         INTEGER NOT NULL,
    intent         TEXT    NOT NULL,
    sentiment      TEXT    NOT NULL,
    time_of_day    TEXT    NOT NULL,
    outcome        TEXT    NOT NULL,
    policy         TEXT    NOT NULL,
    skill_id       TEXT    NOT NULL,
    is_exploration INTEGER NOT NULL,
    confidence     REAL    NOT NULL,
    alignment      REAL    NOT NULL,
    score          REAL    NOT NULL,
    shares         TEXT    NOT NULL,
    explanation    TEXT    NOT NULL,
    question       TEXT    NOT NULL,
    answered_by    TEXT    NOT NULL,
    UNIQUE (user_id, request_id)
) STRICT;
CREATE INDEX selections_by_skill ON selections (user_id, skill_id, position);

CREATE TABLE feedback (
    position       INTEGER PRIMARY KEY,
    user_id        TEXT    NOT NULL,
    event_id       BLOB    NOT NULL UNIQUE CHECK (length(event_id) = 16),
    message_id     TEXT    NOT NULL,
    skill_id       TEXT    NOT NULL,
    reward         INTEGER NOT NULL CHECK (reward BETWEEN -1 AND 1),
    at_us          INTEGER NOT NULL,
    bucket         INTEGER NOT NULL,
    status         TEXT    NOT NULL,
    skill_updated  INTEGER NOT NULL,
    new_confidence REAL    NOT NULL,
    reason         TEXT    NOT NULL,
    sealed_text    BLOB,
    request_id     TEXT    NOT NULL,
    is_exploration INTEGER NOT NULL,
    -- Set by the nightly classification; NULL: not yet classified.
    categories     TEXT
) STRICT;
CREATE INDEX feedback_by_user ON feedback (user_id, position);
CREATE INDEX feedback_unclassified ON feedback (position) WHERE sealed_text IS NOT NULL AND categories IS NULL;

CREATE TABLE trajectories (
    user_id         TEXT    NOT NULL,
    request_id      TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    turn            INTEGER NOT NULL,
    skill_id        TEXT    NOT NULL,
    is_exploration  INTEGER NOT NULL,
    at_us           INTEGER NOT NULL,
    sealed_input    BLOB    NOT NULL,
    sealed_response BLOB,
    reward          INTEGER,
    archived_us     INTEGER,
    PRIMARY KEY (user_id, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX trajectories_by_conversation ON trajectories (user_id, conversation_id);
CREATE INDEX trajectories_without_reward ON trajectories (at_us) WHERE reward IS NULL AND archived_us IS NULL;
CREATE INDEX trajectories_archived ON trajectories (archived_us) WHERE archived_us IS NOT NULL;

-- Every learned change with its cause; `before` holds what stood there, for undo.
CREATE TABLE evolution (
    user_id   TEXT    NOT NULL,
    at_us     INTEGER NOT NULL,
    cause     BLOB    NOT NULL CHECK (length(cause) = 16),
    ordinal   INTEGER NOT NULL,
    what      TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    bucket    INTEGER,
    old_value REAL    NOT NULL,
    new_value REAL    NOT NULL,
    before    BLOB,
    PRIMARY KEY (user_id, at_us, cause, ordinal)
) STRICT, WITHOUT ROWID;
