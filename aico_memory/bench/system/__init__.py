"""`bench system`: latency of context and search over the bus, by stage, and the memory of every process."""
