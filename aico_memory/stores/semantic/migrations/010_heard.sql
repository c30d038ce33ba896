-- Place on the bus: what was said at one moment is ordered as it arrived.
ALTER TABLE memory ADD COLUMN heard INTEGER NOT NULL DEFAULT 0;
ALTER TABLE statement ADD COLUMN heard INTEGER NOT NULL DEFAULT 0;

DROP INDEX statement_by_key;
DROP INDEX statement_waiting;
CREATE INDEX statement_by_key ON statement (scope_no, key_digest, said_at_us, heard, event_id, place) WHERE state = 'kept';
CREATE INDEX statement_waiting ON statement (owner, said_at_us, heard, event_id, place) WHERE state = 'sleep';
