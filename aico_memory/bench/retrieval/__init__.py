"""Retrieval on public sets: long conversations, six languages, implied preferences."""
