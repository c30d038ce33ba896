"""Keys and sealing: master key, per-store keys, per-user data keys."""
