-- L1. Times are Unix microseconds; 4611686018427387904 (2^62) stands for "no end".
-- What people said is sealed with the data key of its owner, beneath the database's own encryption.

CREATE TABLE scope (
    scope_no INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    id       TEXT NOT NULL,
    UNIQUE (kind, id)
) STRICT;

-- Languages in which a scope speaks: a question is stemmed under them.
CREATE TABLE scope_language (
    scope_no INTEGER NOT NULL REFERENCES scope,
    language TEXT    NOT NULL,
    memories INTEGER NOT NULL,
    PRIMARY KEY (scope_no, language)
) STRICT, WITHOUT ROWID;

-- Records (kind 'record', one a message, verbatim) and items (what was distilled).
CREATE TABLE memory (
    row_no             INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_id          BLOB    NOT NULL UNIQUE,
    scope_no           INTEGER NOT NULL REFERENCES scope,
    owner              TEXT    NOT NULL,
    -- Text, entities, fact key and speaker, sealed.
    body               BLOB    NOT NULL,
    kind               TEXT    NOT NULL,
    tier               TEXT    NOT NULL,
    sub_tier           TEXT    NOT NULL,
    status             TEXT    NOT NULL,
    session_id         TEXT    NOT NULL,
    group_id           TEXT    NOT NULL,
    project_id         TEXT    NOT NULL,
    language           TEXT    NOT NULL,
    -- Keyed digest; NULL where the memory has no key.
    fact_key_digest    BLOB,
    said_at_us         INTEGER NOT NULL,
    valid_from_us      INTEGER NOT NULL,
    valid_until_us     INTEGER NOT NULL,
    recorded_at_us     INTEGER NOT NULL,
    invalidated_at_us  INTEGER NOT NULL,
    created_at_us      INTEGER NOT NULL,
    updated_at_us      INTEGER NOT NULL,
    received_at_us     INTEGER NOT NULL,
    temporal_type      TEXT    NOT NULL,
    superseded_by      BLOB,
    variant_of         BLOB,
    version_of         BLOB,
    version            INTEGER NOT NULL,
    confidence         REAL    NOT NULL,
    importance         REAL    NOT NULL,
    utility            REAL    NOT NULL,
    stability          REAL    NOT NULL,
    difficulty         REAL    NOT NULL,
    storage_strength   REAL    NOT NULL,
    access_count       INTEGER NOT NULL,
    last_accessed_us   INTEGER NOT NULL,
    reference_count    INTEGER NOT NULL,
    last_referenced_us INTEGER NOT NULL,
    valence            REAL    NOT NULL,
    arousal            REAL    NOT NULL,
    emotion            TEXT    NOT NULL,
    flashbulb          INTEGER NOT NULL,
    pinned             INTEGER NOT NULL,
    immutable          INTEGER NOT NULL,
    write_source       TEXT    NOT NULL,
    data_source        TEXT    NOT NULL,
    source_confidence  REAL    NOT NULL
) STRICT;

CREATE INDEX memory_by_scope ON memory (scope_no, status, kind, memory_id);
CREATE INDEX memory_by_session ON memory (scope_no, session_id, said_at_us);
CREATE INDEX memory_by_owner ON memory (owner, memory_id);
CREATE INDEX memory_versions ON memory (version_of) WHERE version_of IS NOT NULL;
-- One active item a fact; variants hang on it.
CREATE UNIQUE INDEX one_active_item ON memory (scope_no, fact_key_digest)
    WHERE status = 'active' AND fact_key_digest IS NOT NULL AND variant_of IS NULL;

CREATE TABLE evidence (
    memory_id  BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    event_id   BLOB    NOT NULL,
    method     TEXT    NOT NULL,
    at_us      INTEGER NOT NULL,
    confidence REAL    NOT NULL,
    role       TEXT    NOT NULL,
    said_at_us INTEGER NOT NULL,
    session_id TEXT    NOT NULL,
    -- Name, metadata and excerpt, sealed; NULL where there is none.
    detail     BLOB,
    PRIMARY KEY (memory_id, event_id, method)
) STRICT;

CREATE INDEX evidence_by_event ON evidence (event_id);

-- Which memories mention an entity: keyed digests of scope and URI.
CREATE TABLE entity_mention (
    entity BLOB    NOT NULL,
    row_no INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE,
    PRIMARY KEY (entity, row_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_mention_by_row ON entity_mention (row_no);

CREATE TABLE relation (
    subject    BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    type       TEXT    NOT NULL,
    object     BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    confidence REAL    NOT NULL,
    at_us      INTEGER NOT NULL,
    PRIMARY KEY (subject, type, object)
) STRICT, WITHOUT ROWID;

CREATE INDEX relation_by_object ON relation (object);

CREATE TABLE evolution (
    memory_id BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    cause     BLOB    NOT NULL,
    what      TEXT    NOT NULL,
    at_us     INTEGER NOT NULL,
    -- Old value, new value and reason, sealed.
    detail    BLOB    NOT NULL,
    PRIMARY KEY (memory_id, cause, what)
) STRICT;

-- The truth of the vector index: half floats, of the memory's text in this version.
CREATE TABLE vector (
    fingerprint_no INTEGER NOT NULL,
    row_no         INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE,
    scope_no       INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    half_floats    BLOB    NOT NULL,
    PRIMARY KEY (fingerprint_no, row_no)
) STRICT;

CREATE INDEX vector_by_scope ON vector (fingerprint_no, scope_no, row_no);
CREATE INDEX vector_by_row ON vector (row_no);

-- Embedding models by their fingerprint; one is active.
CREATE TABLE fingerprint (
    fingerprint_no INTEGER PRIMARY KEY,
    fingerprint    TEXT    NOT NULL UNIQUE,
    active         INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX one_active_fingerprint ON fingerprint (active) WHERE active = 1;

-- Memories whose place in the vector index is to be brought up to date, and by which record of the bus.
CREATE TABLE index_outbox (
    entry           INTEGER PRIMARY KEY AUTOINCREMENT,
    row_no          INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE,
    global_sequence INTEGER NOT NULL
) STRICT;

-- Maintenance that was asked for and is not finished.
CREATE TABLE index_job (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id  BLOB    NOT NULL UNIQUE,
    firing_id TEXT    NOT NULL,
    rebuild   INTEGER NOT NULL,
    stage     TEXT    NOT NULL,
    after_row INTEGER NOT NULL
) STRICT;

-- BM25 over tokens made by our own rules. The scope is a token, so one user's words match for him only.
-- It keeps its tokens: a contentless table would go on counting what was deleted, which distorts every score.
CREATE VIRTUAL TABLE memory_text USING fts5 (scope, words, tokenize = 'ascii');
INSERT INTO memory_text (memory_text, rank) VALUES ('rank', 'bm25(0.0, 1.0)');
INSERT INTO memory_text (memory_text, rank) VALUES ('secure-delete', 1);
