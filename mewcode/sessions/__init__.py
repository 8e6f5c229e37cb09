"""The archive: a JSONL file for each session."""
