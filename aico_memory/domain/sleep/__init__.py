"""Sleep: the phases in which experiences become knowledge, each a pure decision over a snapshot."""
