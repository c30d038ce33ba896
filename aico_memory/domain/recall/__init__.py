"""From a question to what answers it and was true at the time asked about. Pure rules."""
