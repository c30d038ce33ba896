"""What keeps the system in bounds where it tunes itself: one way for every change of its own rules."""
