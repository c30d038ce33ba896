"""Disks: every store behind a port, with an in-memory twin."""
