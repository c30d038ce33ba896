"""Where skills, posteriors, preferences, feedback and selections are kept."""
