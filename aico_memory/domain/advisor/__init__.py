"""The advisor's memory: what became of suggestions, and what that says about the next one."""
