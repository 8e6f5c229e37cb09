"""Characters as people see them: several code points may make one, and are deleted and passed over as one."""

from __future__ import annotations

from mewcode.repl.cell_width import cell_widths

# Code points looked at; nothing that people see as one character has more.
_WINDOW = 128


def length_before(text: str) -> int:
    """Code points of the last visible character of ``text``, a part of one line; 0 where it is empty."""
    if not text or text[-1].isascii():
        return len(text[-1:])
    window = text[-_WINDOW:]
    # From a plain character on: a pair of flag halves must not be cut in the middle.
    start = next((index for index in range(len(window) - 1, -1, -1) if window[index].isascii()), 0)
    widths = cell_widths(window[start:])
    for length, width in enumerate(reversed(widths), start=1):
        if width:
            return length
    return len(widths)


def length_after(text: str) -> int:
    """Code points of the first visible character of ``text``, a part of one line; 0 where it is empty."""
    if not text or text[1:2].isascii():
        return len(text[:1])
    window = text[:_WINDOW]
    # Up to a plain character: a tab has no width either, and is no part of what stands before it.
    end = next((index for index in range(1, len(window)) if window[index].isascii()), len(window))
    widths = cell_widths(window[:end])
    for length, width in enumerate(widths[1:], start=1):
        if width:
            return length
    return len(widths)
