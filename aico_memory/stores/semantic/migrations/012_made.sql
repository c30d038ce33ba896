-- What was made of a message is found without the row of its evidence, which is wide.
DROP INDEX evidence_by_event;
CREATE INDEX evidence_by_event ON evidence (event_id, memory_id, method);
