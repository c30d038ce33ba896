"""Facts over time: streams of statements in several languages, asked what is true now and what was true then."""
