"""The consolidation's store: runs, their users, phases and batches."""
