"""`bench bus`: the broker beside Redis Streams, NATS JetStream and a raw CURVE proxy, in one run."""
