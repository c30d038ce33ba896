"""The behavioral process: skills, their selection, and what feedback teaches."""
