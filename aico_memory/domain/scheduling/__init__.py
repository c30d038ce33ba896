"""When a job fires: cron on the wall clock of a zone, catch-up, jitter, idleness, release."""
