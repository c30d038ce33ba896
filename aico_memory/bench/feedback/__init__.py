"""How often feedback text is sorted rightly, by language and category, beside simpler ways."""
