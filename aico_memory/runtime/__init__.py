"""What every process shares: worker loop, outbox, supervisor, cron."""
