"""Notes within a session: what the model may do with them, and what the user types."""
