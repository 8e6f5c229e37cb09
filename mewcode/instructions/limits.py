"""How much of instructions a prompt can bear."""

from __future__ import annotations

FILE_BYTES = 40_000
"""Bytes of one file: about 10,000 tokens, beyond which instructions are not followed but skimmed."""
TOTAL_BYTES = 120_000
"""Bytes of all instructions together."""
MOST_INCLUDES = 1_000
"""Includes that are looked up; what comes after is named and left out."""
DEPTH = 5
"""How deep includes may nest: the file that a top-level file includes has depth 1."""
LONG_LINE = 1_000
"""Characters above which a line is reported: nobody reads it, and a cut would take all of it."""


def cut_at_line(text: str, limit: int) -> str:
    """The whole lines at the beginning of ``text`` that fit into ``limit`` bytes of UTF-8; of a first line
    that is longer, as many whole characters as fit."""
    if 4 * len(text) <= limit:  # no character takes more
        return text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    end = data.rfind(b"\n", 0, limit + 1)
    if end > 0:
        return data[:end].decode("utf-8", "surrogatepass")
    return data[:limit].decode("utf-8", "ignore")
