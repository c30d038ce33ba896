"""What reading memory costs in tokens, through the real workers and counted with the real tokenizer."""
