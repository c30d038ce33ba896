"""A language model behind an OpenAI-compatible endpoint: asked with a budget, believed only where the message bears it out."""
