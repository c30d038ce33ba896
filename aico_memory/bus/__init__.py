"""Sockets: the broker, the link to it, and who may do what."""
