"""L1: episodic records and memory items with their evidence, history and vectors, in one encrypted database."""
