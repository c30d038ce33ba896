-- Whose time comes is looked for over all owners, again and again.
CREATE INDEX memory_ahead ON memory (valid_from_us) WHERE kind IN ('plan', 'task_state');
