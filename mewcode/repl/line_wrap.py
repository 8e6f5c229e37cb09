"""Where lines break: at spaces, between Chinese or Japanese characters, and in a word that is too long."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from mewcode.repl.cell_width import cell_widths

# No line begins with these (kinsoku shori, the basics that all word processors share) ...
_NO_START = frozenset(
    "，。、；：？！）」』】》〉〕］｝〗〙〛”’…—–·・ーゝゞ々ぁぃぅぇぉっゃゅょァィゥェォッャュョ％‰℃,.;:?!)]}%"
)
# ... or ends with these.
_NO_END = frozenset("（「『【《〈〔［｛〖〘〚“‘([{＄￥$#")


def break_lines(text: str, width: int) -> list[tuple[int, int]]:
    """The ranges of ``text`` that stand on a line each, every one at most ``width`` cells (a width below 2
    counts as 2, since a wide character needs as much). ``\\n`` always ends a line. Spaces at a break are in
    no range; every other character is in exactly one."""
    width = max(2, width)
    if "\n" not in text:
        return _break_segment(text, 0, len(text), width)
    ranges: list[tuple[int, int]] = []
    start = 0
    for segment in text.split("\n"):
        ranges += _break_segment(text, start, start + len(segment), width)
        start += len(segment) + 1
    return ranges


def cut_lines(text: str, width: int) -> list[tuple[int, int]]:
    """Like `break_lines` for one line of code: broken wherever the width is reached, spaces kept."""
    width = max(2, width)
    if text.isascii():
        return [(at, min(at + width, len(text))) for at in range(0, len(text), width)] or [(0, 0)]
    sums = [0, *accumulate(cell_widths(text))]
    ranges: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = _farthest(sums, start, width)
        ranges.append((start, end))
        start = end
    return ranges or [(0, 0)]


def _break_segment(text: str, start: int, end: int, width: int) -> list[tuple[int, int]]:
    segment = text[start:end]
    if segment.isascii():
        return _break_ascii(text, start, end, width)
    sums = [0, *accumulate(cell_widths(segment))]
    size = len(segment)
    ranges: list[tuple[int, int]] = []
    at = 0
    while True:
        last = _farthest(sums, at, width)
        if last < size:
            last = _break_before(segment, sums, at, last)
        line_end = last
        while line_end > at and segment[line_end - 1] == " ":
            line_end -= 1
        ranges.append((start + at, start + line_end))
        while last < size and segment[last] == " ":
            last += 1
        if last >= size:
            return ranges
        at = last


def _break_ascii(text: str, start: int, end: int, width: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    while end - start > width:
        cut = text.rfind(" ", start, start + width + 1)
        if cut <= start or not (last := len(text[start:cut].rstrip(" "))):
            # Spaces alone stay with the word behind them, as the indent they are.
            ranges.append((start, start + width))
            start += width
        else:
            ranges.append((start, start + last))
            start = cut
        while start < end and text[start] == " ":
            start += 1
    if start < end or not ranges:
        ranges.append((start, start + len(text[start:end].rstrip(" "))))
    return ranges


def _farthest(sums: list[int], start: int, width: int) -> int:
    """The farthest end of a line from ``start``. Parts of a character that take no cell stay with it, as the
    last of equal sums is taken."""
    return max(start + 1, bisect_right(sums, sums[start] + width) - 1)


def _break_before(segment: str, sums: list[int], start: int, last: int) -> int:
    """The best place to break at or before ``last``; ``last`` itself where no other is allowed."""
    for at in range(last, start, -1):
        before, after = segment[at - 1], segment[at]
        if after == " " or before == " ":
            if segment[start:at].strip(" "):
                return at
            break
        if sums[at + 1] == sums[at] or after in _NO_START or before in _NO_END:
            continue
        if is_cjk(before) or is_cjk(after):
            return at
    return last


def is_cjk(char: str) -> bool:
    """Scripts written without spaces: a line may break beside each of their characters."""
    return (
        "\u2e80" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or "\uff00" <= char <= "\uffef"
        or ("\U00020000" <= char <= "\U0003ffff")
    )
