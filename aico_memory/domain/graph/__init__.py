"""What hangs together: relations between items, and the temporal property graph of entities."""
