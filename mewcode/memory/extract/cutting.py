"""Texts made shorter: by bytes, on a line, never inside a character; and to both ends."""

from __future__ import annotations

_GAP = " [...] "


def cut_lines(text: str, limit: int) -> str:
    """The text, at most so many bytes of UTF-8: as many whole lines as fit, and of a line that is longer than
    half of them as many whole characters; with an ellipsis where something is missing."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    mark = "…"
    kept = data[: max(0, limit - len(mark.encode()))].decode("utf-8", "ignore")
    end = kept.rfind("\n")
    if end >= 0 and len(kept[:end].encode()) >= limit // 2:
        kept = kept[:end]
    return kept.rstrip() + mark


def cut_middle(text: str, limit: int) -> str:
    """The beginning and the end of the text, of at most so many characters (not below 40)."""
    limit = max(limit, 40)
    if len(text) <= limit:
        return text
    tail = (limit - len(_GAP)) // 3
    return f"{text[: limit - len(_GAP) - tail]}{_GAP}{text[-tail:]}"
