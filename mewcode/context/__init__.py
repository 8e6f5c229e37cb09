"""The context window: what a conversation takes of it, and what makes it less. Pure: no file, no clock."""
