"""Texts too long to be shown whole: a message of 100 MB would take minutes, and nobody scrolls through it."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^(```|~~~)", re.MULTILINE)


def end_of(text: str, most: int) -> str:
    """``text`` where it has at most ``most`` characters, else a line that says how much is left out, and its
    end, from the beginning of a line where one is near. What was in fenced code stays in it."""
    if len(text) <= most:
        return text
    begin = len(text) - most
    line = text.find("\n", begin, begin + most // 2) + 1
    begin = line or begin
    said = f"… {begin:,} characters before this are not shown; the session's file has them"
    fences = _FENCE.findall(text, 0, begin)
    return "\n\n".join((said, (f"{fences[-1]}\n" if len(fences) % 2 else "") + text[begin:]))
