"""What was true when, as believed when: versions, their changes, trends and predictions."""
