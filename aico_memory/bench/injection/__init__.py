"""Texts that try to give orders to the memory, and how many of them bind somebody."""
