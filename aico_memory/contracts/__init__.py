"""Contracts: generated protobuf, the topic registry, frames, envelopes, recordings."""
