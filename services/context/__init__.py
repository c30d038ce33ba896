"""The context worker: questions about what is remembered."""
