"""Which vector index answers faster from which size on."""
