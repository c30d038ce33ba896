"""What language tables say about a message: small talk, cues of intent, words of feeling."""
