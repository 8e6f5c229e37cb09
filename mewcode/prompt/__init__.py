"""The system prompt, built from modules."""
