-- Who selected a skill within a time, answered from the index alone.
CREATE INDEX selections_by_time ON selections (at_us, user_id);
