"""The rows of the table, in its order."""

from __future__ import annotations

from bench.rows import archive, resume, search, start, stream, terminal, tools
from bench.rows.base import Row

ROWS: tuple[Row, ...] = (
    *start.ROWS,
    *terminal.ROWS,
    *tools.ROWS,
    *stream.ROWS,
    *resume.ROWS,
    *archive.ROWS,
    *search.ROWS,
)
ON_REQUEST: tuple[Row, ...] = search.ON_REQUEST
"""Measured only where they are named: they take long to set up."""
