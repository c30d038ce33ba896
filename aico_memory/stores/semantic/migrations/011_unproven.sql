-- Another state of a statement. unproven: fewer events have said it than the policy asks for.
CREATE INDEX statement_unproven ON statement (scope_no, key_digest, said_at_us, heard, event_id, place) WHERE state = 'unproven';
