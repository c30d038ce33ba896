"""The gate: what becomes of a formed statement, and why."""
