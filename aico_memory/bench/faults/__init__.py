"""`bench faults`: kill -9 at random moments under load, then compare with a run without kills."""
