-- The write path: how items are read, the statements they rest on, what the gate counts and remembers, and the graph.
-- What people said is sealed with the data key of its owner; keys, subjects and names are looked up by keyed digests.

-- Subject, predicate, value and normalised object of an item, sealed; NULL where it has no reading.
ALTER TABLE memory ADD COLUMN reading BLOB;
ALTER TABLE memory ADD COLUMN single_valued INTEGER NOT NULL DEFAULT 0;
-- Of (subject, predicate), and of (object); NULL where there is none.
ALTER TABLE memory ADD COLUMN predicate_digest BLOB;
ALTER TABLE memory ADD COLUMN object_digest BLOB;

CREATE INDEX item_by_scope ON memory (scope_no, status, tier, memory_id) WHERE kind <> 'record';
CREATE INDEX item_by_key ON memory (scope_no, fact_key_digest) WHERE fact_key_digest IS NOT NULL;
CREATE INDEX item_by_predicate ON memory (scope_no, predicate_digest) WHERE predicate_digest IS NOT NULL;
CREATE INDEX item_by_object ON memory (scope_no, object_digest) WHERE object_digest IS NOT NULL;
CREATE INDEX item_variants ON memory (variant_of) WHERE variant_of IS NOT NULL;

-- One open active item a fact: interruptions and moves that lie ahead are active beside it.
DROP INDEX one_active_item;
CREATE UNIQUE INDEX one_active_item ON memory (scope_no, fact_key_digest)
    WHERE status = 'active' AND fact_key_digest IS NOT NULL AND variant_of IS NULL AND valid_until_us = 4611686018427387904;

-- What was stated. kept: folded into the chain of its key; review: its item waits for a person; sleep: it waits for sleep.
CREATE TABLE statement (
    statement_id BLOB    PRIMARY KEY,
    scope_no     INTEGER NOT NULL REFERENCES scope,
    owner        TEXT    NOT NULL,
    key_digest   BLOB    NOT NULL,
    state        TEXT    NOT NULL,
    event_id     BLOB    NOT NULL,
    said_at_us   INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    body         BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX statement_by_key ON statement (scope_no, key_digest, said_at_us, event_id, place) WHERE state = 'kept';
CREATE INDEX statement_waiting ON statement (owner, said_at_us, event_id, place) WHERE state = 'sleep';

-- Versions of the write policy of a scope, as JSON; it holds no words of people.
CREATE TABLE policy_version (
    scope_no INTEGER NOT NULL REFERENCES scope,
    number   INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    PRIMARY KEY (scope_no, number)
) STRICT, WITHOUT ROWID;

-- Fast-path writes of a session (its id) and of an hour of the broker's clock (its number as text).
CREATE TABLE write_usage (
    scope_no INTEGER NOT NULL REFERENCES scope,
    span     TEXT    NOT NULL,
    id       TEXT    NOT NULL,
    writes   INTEGER NOT NULL,
    at_us    INTEGER NOT NULL,
    PRIMARY KEY (scope_no, span, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX write_usage_by_age ON write_usage (at_us);

-- Synaptic tags; captured_us is 0 until something important came.
CREATE TABLE tag (
    memory_id     BLOB    PRIMARY KEY REFERENCES memory (memory_id) ON DELETE CASCADE,
    scope_no      INTEGER NOT NULL REFERENCES scope,
    session_id    TEXT    NOT NULL,
    set_at_us     INTEGER NOT NULL,
    expires_at_us INTEGER NOT NULL,
    captured_us   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_by_session ON tag (scope_no, session_id, expires_at_us);
CREATE INDEX tag_by_age ON tag (expires_at_us);

-- How often two items were retrieved together, the lower id first.
CREATE TABLE co_activation (
    first    BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    second   BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    together INTEGER NOT NULL,
    PRIMARY KEY (first, second)
) STRICT, WITHOUT ROWID;

CREATE INDEX co_activation_by_second ON co_activation (second);

-- An interaction whose response may be looked through again: response and summary, sealed.
CREATE TABLE interaction (
    scope_no       INTEGER NOT NULL REFERENCES scope,
    interaction_id TEXT    NOT NULL,
    owner          TEXT    NOT NULL,
    event_id       BLOB    NOT NULL,
    at_us          INTEGER NOT NULL,
    body           BLOB    NOT NULL,
    PRIMARY KEY (scope_no, interaction_id)
) STRICT;

CREATE INDEX interaction_by_age ON interaction (at_us);

-- Which items an interaction has reinforced: each once.
CREATE TABLE reinforced (
    scope_no       INTEGER NOT NULL REFERENCES scope,
    interaction_id TEXT    NOT NULL,
    memory_id      BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    PRIMARY KEY (scope_no, interaction_id, memory_id)
) STRICT, WITHOUT ROWID;

-- What the write path did with an event, and why, sealed. Also tells that the event was worked on.
CREATE TABLE explanation (
    event_id BLOB    PRIMARY KEY,
    scope_no INTEGER NOT NULL REFERENCES scope,
    owner    TEXT    NOT NULL,
    at_us    INTEGER NOT NULL,
    body     BLOB    NOT NULL
) STRICT;

CREATE INDEX explanation_by_age ON explanation (at_us);

-- When decay, drift and rehearsal were last applied to an item.
CREATE TABLE upkeep (
    memory_id BLOB    NOT NULL REFERENCES memory (memory_id) ON DELETE CASCADE,
    what      TEXT    NOT NULL,
    at_us     INTEGER NOT NULL,
    PRIMARY KEY (memory_id, what)
) STRICT, WITHOUT ROWID;

-- The last questions that a scope was asked, as half floats of a model.
CREATE TABLE question (
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_no    INTEGER NOT NULL REFERENCES scope,
    fingerprint TEXT    NOT NULL,
    at_us       INTEGER NOT NULL,
    half_floats BLOB    NOT NULL
) STRICT;

CREATE INDEX question_by_scope ON question (scope_no, position);

-- The graph. Name and aliases of an entity are sealed; it is found by digests of its normalised names.
CREATE TABLE entity (
    entity_id     BLOB    PRIMARY KEY,
    scope_no      INTEGER NOT NULL REFERENCES scope,
    owner         TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    created_at_us INTEGER NOT NULL,
    body          BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_by_scope ON entity (scope_no, entity_id);

CREATE TABLE entity_name (
    scope_no  INTEGER NOT NULL REFERENCES scope,
    name      BLOB    NOT NULL,
    entity_id BLOB    NOT NULL REFERENCES entity ON DELETE CASCADE,
    PRIMARY KEY (scope_no, name, entity_id)
) STRICT, WITHOUT ROWID;

-- Two entities found to be one, until that is undone.
CREATE TABLE entity_merge (
    merge_id     BLOB    PRIMARY KEY,
    scope_no     INTEGER NOT NULL REFERENCES scope,
    kept         BLOB    NOT NULL REFERENCES entity (entity_id) ON DELETE CASCADE,
    absorbed     BLOB    NOT NULL REFERENCES entity (entity_id) ON DELETE CASCADE,
    at_us        INTEGER NOT NULL,
    how          TEXT    NOT NULL,
    similarity   REAL    NOT NULL,
    undone_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_merge_by_scope ON entity_merge (scope_no);

-- Predicate, literal and beliefs of an edge are sealed. It bears the id of the item that states it.
CREATE TABLE edge (
    edge_id       BLOB    PRIMARY KEY,
    scope_no      INTEGER NOT NULL REFERENCES scope,
    owner         TEXT    NOT NULL,
    subject       BLOB    NOT NULL REFERENCES entity (entity_id) ON DELETE CASCADE,
    object        BLOB,
    single_valued INTEGER NOT NULL,
    confidence    REAL    NOT NULL,
    source        BLOB    NOT NULL,
    body          BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX edge_by_scope ON edge (scope_no, edge_id);
CREATE INDEX edge_by_subject ON edge (subject);
CREATE INDEX edge_by_object ON edge (object) WHERE object IS NOT NULL;
