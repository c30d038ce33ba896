"""From a question to ranked memories. Pure rules."""
