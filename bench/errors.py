"""What can break while measuring."""

from __future__ import annotations


class BenchError(Exception):
    """The program did not do what the row measures: it failed, or did not come to it in time."""
