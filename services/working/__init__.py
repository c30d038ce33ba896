"""The working process: L0, what was said and seen, as received."""
