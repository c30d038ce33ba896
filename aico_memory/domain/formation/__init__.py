"""From what was said to what is written: language, entities, keys. Pure rules."""
