"""What a document is cut into: pieces of text under a heading, none too long to be shown whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

MOST_TEXT = 1_600
"""Characters of a piece: about 400 tokens, so that several fit into one answer."""
MOST_TITLE = 200
"""Characters of a heading, or of a name in data: each piece below repeats it."""
_LEAST_TEXT = 400
"""A paragraph that is shorter goes together with its neighbours."""
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n")

Line = tuple[int, str, tuple[int, str] | None]
"""A line of a text with its number, and with its level and title where it is a heading."""


class Piece(msgspec.Struct, frozen=True):
    """``heading``: the headings that it stands under, outermost first, joined by " > "; ``line``: where it
    begins, from 1."""

    heading: str
    line: int
    text: str


def cut(heading: str, line: int, text: str) -> Iterator[Piece]:
    """The text in pieces of at most `MOST_TEXT` characters: at blank lines where that can be, else after
    sentences or lines, else anywhere. Paragraphs that are short stay together."""
    pending, start = "", line
    at = line
    for paragraph in _paragraphs(text):
        joined = f"{pending}{paragraph}"
        if pending.strip() and (len(joined) > MOST_TEXT or len(pending.strip()) >= _LEAST_TEXT):
            yield from _shown(heading, start, pending)
            pending, start, joined = "", at, paragraph
        if len(joined) > MOST_TEXT:
            for part in _parts(joined):
                yield from _shown(heading, start, part)
                start += part.count("\n")
            joined = ""
        at += paragraph.count("\n")
        pending = joined
        if not pending:
            start = at
    yield from _shown(heading, start, pending)


def _shown(heading: str, line: int, text: str) -> Iterator[Piece]:
    lead = len(text) - len(text.lstrip())
    if text.strip():
        yield Piece(heading, line + text.count("\n", 0, lead), text.strip())


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs, each with the blank line behind it: joined they are the text."""
    start = 0
    for match in _BLANK_LINE.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]


def _parts(text: str) -> Iterator[str]:
    start, last = 0, 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() - start > MOST_TEXT:
            if last > start:
                yield text[start:last]
                start = last
            while match.end() - start > MOST_TEXT:
                yield text[start : start + MOST_TEXT]
                start += MOST_TEXT
        last = match.end()
    if len(text) - start > MOST_TEXT and last > start:
        yield text[start:last]
        start = last
    while start < len(text):
        yield text[start : start + MOST_TEXT]
        start += MOST_TEXT


class Outline:
    """The headings above the place that was reached. A heading of a level ends those of its own and below."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        """Comes to a heading; ``level`` 1 is the outermost."""
        self._open = [(above, name) for above, name in self._open if above < level]
        self._open.append((level, " ".join(title.split())[:MOST_TITLE]))

    @property
    def heading(self) -> str:
        return " > ".join(name for _, name in self._open if name)[: 4 * MOST_TITLE]


def under_headings(lines: Iterable[Line]) -> Iterator[Piece]:
    """Pieces of a text of these lines."""
    outline = Outline()
    start, body = 1, list[str]()
    for number, line, heading in lines:
        if heading is not None:
            yield from cut(outline.heading, start, "\n".join(body))
            outline.enter(*heading)
            start, body = number, [heading[1]]
        else:
            body.append(line)
    yield from cut(outline.heading, start, "\n".join(body))
