-- The advisor's memory. What people said is sealed with their own key (columns sealed_*); a type is a name, never a sentence.

-- Append-only: an old one loses its sealed reason, states and evidence by compaction; a person may delete their own.
CREATE TABLE outcomes (
    user_id       TEXT    NOT NULL,
    number        INTEGER NOT NULL CHECK (number > 0),
    event_id      BLOB    NOT NULL UNIQUE CHECK (length(event_id) = 16),
    suggestion_id TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    outcome       TEXT    NOT NULL CHECK (outcome IN ('accepted', 'rejected', 'expired', 'superseded')),
    created_us    INTEGER NOT NULL,
    decided_us    INTEGER NOT NULL,
    sealed_body   BLOB    NOT NULL,
    compacted     INTEGER NOT NULL CHECK (compacted IN (0, 1)),
    -- The answer that its event got.
    answer        BLOB    NOT NULL,
    -- Half-precision floats of the model that `fingerprint` names, sealed; NULL: not embedded yet.
    sealed_vector BLOB,
    fingerprint   TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, number)
) STRICT;
CREATE INDEX outcomes_by_suggestion ON outcomes (user_id, suggestion_id);
CREATE INDEX outcomes_whole ON outcomes (user_id, decided_us) WHERE compacted = 0;
CREATE INDEX outcomes_to_embed ON outcomes (user_id, number) WHERE sealed_vector IS NULL;

CREATE TABLE outcome_profiles (
    user_id        TEXT    PRIMARY KEY,
    sealed_profile BLOB    NOT NULL,
    updated_us     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Shown, and not answered yet.
CREATE TABLE open_suggestions (
    user_id       TEXT    NOT NULL,
    suggestion_id TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    created_us    INTEGER NOT NULL,
    expires_us    INTEGER NOT NULL,
    sealed_body   BLOB    NOT NULL,
    PRIMARY KEY (user_id, suggestion_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_suggestions_by_end ON open_suggestions (expires_us);

-- Generalisations over at least k people; no person stands here.
CREATE TABLE insights (
    insight_id TEXT    PRIMARY KEY,
    statement  TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    people     INTEGER NOT NULL,
    rate       REAL    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('candidate', 'promoted', 'rejected')),
    at_us      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
