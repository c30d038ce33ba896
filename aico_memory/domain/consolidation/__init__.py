"""Consolidation's order: who, in which batches, in which phases, and what a run does next."""
