"""AICO Memory: an Adaptive Memory System on an authenticated, durable message bus."""

__version__ = "0.1.0"
