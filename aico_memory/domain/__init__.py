"""Rules: frozen dataclasses and free functions; no socket, disk, clock, environment or global randomness."""
