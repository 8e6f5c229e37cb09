"""A page of HTML in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from mewcode.memory.knowledge.pieces import Outline, Piece, cut

_UNSEEN = ("script", "style", "template", "noscript", "svg", "head")
_BLOCKS = frozenset(
    (
        "p",
        "div",
        "section",
        "article",
        "li",
        "ul",
        "ol",
        "table",
        "tr",
        "pre",
        "blockquote",
        "br",
        "hr",
        "dt",
        "dd",
    )
)
_MOST_DEPTH = 200
"""Of what is not seen; each end of a tag is looked for among them."""
_FEED = 65_536
"""Characters that are read at once."""
_MOST_OPEN = 32 * _FEED
"""Characters of a tag, comment or script that does not end: it is searched anew with each piece."""


def page_pieces(text: str) -> Iterator[Piece]:
    """By headings; without scripts and styles. Broken HTML gives what can be seen of it; what stands behind a
    tag or comment that never ends is lost."""
    reader = _Reader()
    for start in range(0, len(text), _FEED):
        reader.feed(text[start : start + _FEED])
        if len(reader.rawdata) > _MOST_OPEN:
            break
    if len(reader.rawdata) <= _FEED:  # else each of its characters is looked at over and over
        reader.close()
    reader.end_section()
    return iter(reader.pieces)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[Piece] = []
        self._outline = Outline()
        self._text: list[str] = []
        self._line = 1
        self._unseen: list[str] = []
        self._heading = 0

    def parse_html_declaration(self, i: int) -> int:
        """A declaration says nothing to a reader; the library raises on ``<![`` that is no CDATA."""
        if self.rawdata.startswith("<!--", i):
            return self.parse_comment(i)
        return self.rawdata.find(">", i + 2) + 1 or -1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN and len(self._unseen) < _MOST_DEPTH:
            self._unseen.append(tag)
        elif tag in _BLOCKS:
            self._text.append("\n" if tag in ("br", "tr", "li", "dt", "dd") else "\n\n")
        elif level := _level(tag):
            self.end_section()
            self._heading, self._line = level, self.getpos()[0]

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unseen:
            while self._unseen.pop() != tag:
                pass
        elif tag in _BLOCKS:
            self._text.append("\n\n" if tag in ("p", "pre", "table", "ul", "ol") else "\n")
        elif tag in ("td", "th"):
            self._text.append("  ")
        elif _level(tag) and self._heading:
            self._outline.enter(self._heading, "".join(self._text))
            self._text.append("\n\n")
            self._heading = 0

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            if not self._text:
                self._line = self.getpos()[0]
            self._text.append(data)

    def end_section(self) -> None:
        """What was read since the last heading becomes pieces. They all have the line of that heading: how
        the text is broken into lines is not how the file is."""
        text = "\n".join(" ".join(line.split()) for line in "".join(self._text).split("\n"))
        for piece in cut(self._outline.heading, 1, text):
            self.pieces.append(Piece(piece.heading, self._line, piece.text))
        self._text, self._heading = [], 0


def _level(tag: str) -> int:
    return int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456" else 0
