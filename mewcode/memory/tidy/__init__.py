"""Keeping the notes small and true: when it is due, what a model is asked, what may come of its answer."""
