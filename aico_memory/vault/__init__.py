"""Keys and sealing: the master key, per-store keys, per-user data keys, CURVE identities."""
