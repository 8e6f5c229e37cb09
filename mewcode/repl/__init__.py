"""The terminal front end; rich and prompt_toolkit stay in here."""
