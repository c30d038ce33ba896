"""Rules of the behavioral store: which skill applies, which is chosen and why, what feedback teaches."""
