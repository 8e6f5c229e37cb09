"""What a search is asked, and how its output is cut into records."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

# What is kept of a record, in bytes: a line of a minified file may have megabytes.
_RECORD_KEPT = 8192


class Search(msgspec.Struct, frozen=True):
    """``base``: the absolute folder to search. ``target``: a file in it, empty for the whole tree.
    ``pattern``: a regular expression, None to list files. ``mode``: content, files or count. ``name_filter``:
    a pattern for file names that may spare work; the caller filters all the same."""

    base: str
    target: str = ""
    pattern: str | None = None
    hidden: bool = False
    ignore_case: bool = False
    multiline: bool = False
    context: int = 0
    mode: str = "content"
    name_filter: str = ""


class Records:
    """Cuts a stream at a separator of one byte. Of a long record only the beginning is kept."""

    def __init__(self, separator: bytes) -> None:
        self._separator = separator
        self._open = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The records that ``chunk`` completes."""
        *whole, rest = chunk.split(self._separator)
        for piece in whole:
            if self._open:
                self._add(piece)
                yield bytes(self._open)
                self._open.clear()
            else:
                yield piece[:_RECORD_KEPT]
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._open += piece[: _RECORD_KEPT - len(self._open)]
