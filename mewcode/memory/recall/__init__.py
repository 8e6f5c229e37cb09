"""Recall: what notes, past exchanges and documents hold on a matter, found by words in milliseconds."""
