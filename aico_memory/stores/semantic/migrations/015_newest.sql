-- The newest items of a reading, and of a scope, are read in their order: before, all were read to be sorted.
DROP INDEX item_by_predicate;
CREATE INDEX item_by_predicate ON memory (scope_no, predicate_digest, said_at_us, heard, memory_id)
    WHERE predicate_digest IS NOT NULL;
DROP INDEX item_by_object;
CREATE INDEX item_by_object ON memory (scope_no, object_digest, said_at_us, heard, memory_id) WHERE object_digest IS NOT NULL;
CREATE INDEX item_by_time ON memory (scope_no, said_at_us, heard, memory_id)
    WHERE kind <> 'record' AND status = 'active' AND tier <> 'dormant';
