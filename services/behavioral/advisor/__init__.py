"""The advisor's memory in the behavioral worker: recording, asking, compacting, insights."""
