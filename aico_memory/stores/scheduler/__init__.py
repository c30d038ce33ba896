"""The scheduler's store: how far each job has been planned, and the history of its firings."""
