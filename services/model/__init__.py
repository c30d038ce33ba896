"""The model service: embeddings and labels."""
