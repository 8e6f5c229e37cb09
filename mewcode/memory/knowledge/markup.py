"""Markdown, reStructuredText and plain text in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mewcode.memory.knowledge.pieces import Line, Piece, cut, under_headings

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RST_LINE = re.compile(r"([=\-`:.'\"~^_*+#])\1{2,}[ \t]*\Z")


def markdown_pieces(text: str) -> Iterator[Piece]:
    """By headings, of both kinds; what stands in a code block is none. A YAML head is a piece of its own."""
    return under_headings(_markdown_lines(text.split("\n")))


def _markdown_lines(lines: list[str]) -> Iterator[Line]:
    fence = ""
    index, head = 0, _head_lines(lines)
    while index < len(lines):
        line, number = lines[index], index + 1
        following = lines[index + 1] if index + 1 < len(lines) else ""
        index += 1
        if fence:
            # A fence is closed by one at least as long, with nothing behind it.
            closing = line.strip()
            if closing.startswith(fence) and not closing.strip(fence[0]):
                fence = ""
        elif match := _FENCE.match(line):
            fence = match[1]
        elif match := _ATX.match(line):
            yield number, line, (len(match[1]), _atx_title(line[match.end() :]))
            continue
        elif (
            line.strip() and (under := _SETEXT.match(following)) and not _is_block(line, lines, number, head)
        ):
            yield number, line, (1 if under[1][0] == "=" else 2, line.strip())
            index += 1
            continue
        yield number, line, None


def _atx_title(rest: str) -> str:
    """What stands behind the signs of a heading, without those that may end it."""
    title = rest.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def _head_lines(lines: list[str]) -> int:
    """How many lines a YAML head has, the last mark left out; 0 where there is none."""
    if lines[0].strip() != "---":
        return 0
    return next((at for at in range(1, len(lines)) if lines[at].strip() == "---"), len(lines))


def _is_block(line: str, lines: list[str], number: int, head: int) -> bool:
    """Whether a line above ``---`` is no paragraph of one line: a list, a quotation, a table, the second line
    of a paragraph, or one of a YAML head."""
    if re.match(r"\s*([-*+>|]|\d+[.)]\s)|    ", line):
        return True
    return (number > 1 and bool(lines[number - 2].strip())) or number <= head


def rst_pieces(text: str) -> Iterator[Piece]:
    """By titles with a line below them; a kind of line is a level, in the order in which they come."""
    return under_headings(_rst_lines(text.split("\n")))


def _rst_lines(lines: list[str]) -> Iterator[Line]:
    levels: dict[str, int] = {}
    index = 0
    while index < len(lines):
        line, number = lines[index], index + 1
        over = _RST_LINE.match(line)
        framed = lines[index + 1 : index + 3] if over else []
        if len(framed) == 2 and framed[0].strip() and _RST_LINE.match(framed[1]) and framed[1][0] == line[0]:
            yield number, line, (levels.setdefault(line[0] * 2, len(levels) + 1), framed[0].strip())
            index += 3
            continue
        under = _RST_LINE.match(lines[index + 1]) if index + 1 < len(lines) else None
        is_title = bool(line.strip()) and not line[0].isspace() and not over
        if under and is_title and len(lines[index + 1].rstrip()) >= len(line.rstrip()):
            yield number, line, (levels.setdefault(under[1], len(levels) + 1), line.strip())
            index += 2
            continue
        yield number, line, None
        index += 1


def text_pieces(text: str) -> Iterator[Piece]:
    """By paragraphs."""
    return cut("", 1, text)
