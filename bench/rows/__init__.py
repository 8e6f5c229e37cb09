"""The rows of the table, in its order."""

from __future__ import annotations

from bench.rows import archive, long, notes, picker, recall, resume, search, start, stream, terminal, tools
from bench.rows.base import Row

ROWS: tuple[Row, ...] = (
    *start.ROWS,
    *terminal.ROWS,
    *tools.ROWS,
    *notes.ROWS,
    *stream.ROWS,
    *resume.ROWS,
    *picker.ROWS,
    *archive.ROWS,
    *search.ROWS,
    *recall.ROWS,
)
ON_REQUEST: tuple[Row, ...] = (
    *resume.ON_REQUEST,
    *picker.ON_REQUEST,
    *archive.ON_REQUEST,
    *long.ON_REQUEST,
    *search.ON_REQUEST,
    *recall.ON_REQUEST,
)
"""Measured only where they are named: they take long to set up."""
