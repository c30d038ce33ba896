"""Embeddings and language labels."""
