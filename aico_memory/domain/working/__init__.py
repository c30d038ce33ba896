"""Rules of working memory: when an experience may go, and what a session holds in mind."""
