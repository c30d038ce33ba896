"""Process entry points, one package a process."""
