"""The scheduler: fires the jobs of config/schedule.yaml, each planned time once."""
