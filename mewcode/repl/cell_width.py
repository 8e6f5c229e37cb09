"""How many terminal cells a text takes: wide characters, combining marks, emoji of several code points."""

from __future__ import annotations

import re

_ZWJ = "\u200d"
# What makes one character out of several in ways that the sum of the parts does not tell: joiner, variation
# selectors, keycap, regional indicators (flags), skin tones.
_JOINED = re.compile("[\u200d\ufe0e\ufe0f\u20e3\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
_MEMORY = 4096

# Ranges that are the same in every edition of Unicode's width tables. With them most text needs no tables at
# all: importing wcwidth takes 10 to 40 ms.
_KNOWN = (
    (0x20, 0x7E, 1),
    (0xA0, 0x2FF, 1),
    (0x370, 0x377, 1),
    (0x400, 0x482, 1),
    (0x48A, 0x52F, 1),
    (0x2010, 0x2027, 1),
    (0x2030, 0x205E, 1),
    (0x2070, 0x2071, 1),
    (0x20A0, 0x20BF, 1),
    (0x2190, 0x21FF, 1),
    (0x2200, 0x22FF, 1),
    (0x2500, 0x25FC, 1),
    (0x3001, 0x3029, 2),
    (0x3041, 0x3096, 2),
    (0x309B, 0x30FF, 2),
    (0x3400, 0x4DB5, 2),
    (0x4E00, 0x9FA5, 2),
    (0xAC00, 0xD7A3, 2),
    (0xFF01, 0xFF60, 2),
)


class _CharWidths(dict[str, int]):
    """The width of one code point, worked out at first use; never more entries than code points exist."""

    def __missing__(self, char: str) -> int:
        code = ord(char)
        for first, last, known in _KNOWN:
            if first <= code <= last:
                width = known
                break
        else:
            from wcwidth import wcwidth  # 10 ms and more, and most text does without

            width = max(0, wcwidth(char))
        self[char] = width
        return width


_CHAR = _CharWidths()
_CLUSTERS: dict[str, int] = {}


def cell_width(text: str) -> int:
    """Cells that a line of text takes. Control characters count as none: clean the text before."""
    if text.isascii():
        return len(text)
    return sum(cell_widths(text))


def cell_widths(text: str) -> list[int]:
    """The width by code point. Where several make one character as people see it (a grapheme cluster), the
    first has its whole width, the others have 0: a text may be cut before any code point that has a width,
    and nowhere else."""
    if text.isascii():
        return [1] * len(text)
    widths = list(map(_CHAR.__getitem__, text))
    if 0 in widths or _JOINED.search(text):
        return _joined_widths(text, widths)
    return widths


def cut_cells(text: str, width: int, ellipsis: str = "…") -> str:
    """The text where it fits ``width`` cells; else its beginning and the ellipsis, together no wider. Costs
    by the width, not by the text's length."""
    if len(text) * 2 <= width or (len(text) <= width and text.isascii()):
        return text
    room = width - cell_width(ellipsis)
    if room < 0:
        return ""
    # A character that people see is seldom more than eight code points.
    window = text[: 8 * width + 8]
    used = keep = 0
    widths = cell_widths(window)
    for index, cells in enumerate(widths):
        used += cells
        if used > room:
            break
        keep = index + 1
    if len(window) == len(text) and sum(widths) <= width:
        return text
    return text[:keep] + ellipsis


def _joined_widths(text: str, widths: list[int]) -> list[int]:
    result = [0] * len(text)
    start = 0
    while start < len(text):
        end = _cluster_end(text, widths, start)
        result[start] = widths[start] if end == start + 1 else _cluster_width(text[start:end])
        start = end
    return result


def _cluster_end(text: str, widths: list[int], start: int) -> int:
    """A short form of UAX 29: what has no width joins what stands before; so do skin tones, the second half
    of a flag, and a symbol after a joiner."""
    end = start + 1
    while end < len(text):
        char, before = text[end], text[end - 1]
        joins = (
            widths[end] == 0
            or (before == _ZWJ and char >= "\u2190" and text[start] >= "\u00a9")
            or ("\U0001f3fb" <= char <= "\U0001f3ff" and text[start] >= "\u261d")
            or (end == start + 1 and _is_flag_half(char) and _is_flag_half(before))
        )
        if not joins:
            break
        end += 1
    return end


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _cluster_width(cluster: str) -> int:
    known = _CLUSTERS.get(cluster)
    if known is not None:
        return known
    from wcwidth import wcswidth  # see `_CharWidths`

    width = min(2, max(0, wcswidth(cluster)))
    if len(_CLUSTERS) >= _MEMORY:
        _CLUSTERS.clear()
    if len(cluster) <= 16:
        _CLUSTERS[cluster] = width
    return width
