"""Simulated people with tastes of their own, to measure how soon selection serves them well."""
