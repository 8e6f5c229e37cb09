"""Layer 2 of the memory: notes, one fact a file, at two levels."""
