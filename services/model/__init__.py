"""The model service: embeddings, labels, the span reader, and the way to a language model."""
