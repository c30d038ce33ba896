"""L1: episodic records and memory items, their indexes, and questions about them."""
