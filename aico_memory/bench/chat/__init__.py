"""Real chat through a real deployment: what is filtered, kept and merged, at which speed, in which memory."""
