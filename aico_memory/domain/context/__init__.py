"""Assembling a context: what to ask, how long to wait, what became of it. Pure rules."""
