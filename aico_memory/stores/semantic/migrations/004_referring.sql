-- What refers to something said before, as it was said: looked at again when that something arrives late.
CREATE INDEX statement_referring ON statement (scope_no, said_at_us, event_id, place) WHERE state = 'referring';
