"""The phases of sleep over long-term memory: pure decisions, applied step by step inside the consumer's transactions."""
