"""Tells in Markdown what is text, what is a comment for people, and what asks for an include. Pure.

As CommonMark has it: a line within fenced or indented code, a code span or a comment asks for nothing. A
comment that is never closed hides nothing here: a lost ``-->`` must not cost the rest of the file.
"""

from __future__ import annotations

import re

from mewcode.instructions.directive import Directive, parse_directive

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_RUN = re.compile("`+")
_EMPTY_COMMENT = re.compile("-?>")  # <!--> and <!---> are comments by themselves
_INLINE = re.compile(r"\\.|`+|<!--", re.DOTALL)

Piece = str | Directive
"""Lines of text (with their ``\\n`` but for the last), or an include between them."""


class Scanned:
    """``pieces`` in order. ``numbers``: for each line of text in them its number in the file, from 1.
    ``open_comment``: the line of a comment that is not closed, 0 for none."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.numbers: list[int] = []
        self.open_comment = 0


def scan(text: str) -> Scanned:
    """Cuts ``text`` (line endings ``\\n``) into pieces and leaves comments out."""
    if "@" in text or "<!--" in text:
        return _Scan(text).run()
    found = Scanned()
    found.pieces, found.numbers = [text], list(range(1, text.count("\n") + 2))
    return found


class _Scan:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._text: list[str] = []
        self._found = Scanned()
        self._last_close = text.rfind("-->")
        self._offset = 0
        self._fence = ""
        self._in_comment = False
        self._span = ""  # the run of backticks that an open code span waits for
        self._paragraph = False  # the line before was text, which this one may continue

    def run(self) -> Scanned:
        for number, line in enumerate(self._lines, 1):
            self._line(number, line)
            self._offset += len(line) + 1
        self._flush()
        return self._found

    def _flush(self) -> None:
        if self._text:
            self._found.pieces.append("\n".join(self._text))
            self._text = []

    def _keep(self, number: int, line: str) -> None:
        self._text.append(line)
        self._found.numbers.append(number)

    def _line(self, number: int, line: str) -> None:
        if self._fence:
            self._keep(number, line)
            if _closes(line, self._fence):
                self._fence = ""
            return
        if self._in_comment:
            self._inline(number, line)
            return
        if not line.strip():
            self._paragraph, self._span = False, ""
            self._keep(number, line)
            return
        if not self._span and (fence := _FENCE.match(line)):
            self._fence, self._paragraph = fence.group(1), False
            self._keep(number, line)
            return
        if not self._paragraph and line.startswith(("    ", "\t")):
            self._keep(number, line)  # indented code
            return
        self._paragraph = True
        self._inline(number, line)

    def _inline(self, number: int, line: str) -> None:
        """A line of text: without its comments, and with the code span that it leaves open."""
        was_comment = self._in_comment
        may_ask = not self._span and not was_comment and line.lstrip(" ").startswith("@")
        kept: list[str] = []
        place = 0
        while place < len(line):
            if self._in_comment:
                end = line.find("-->", place)
                if end < 0:
                    place = len(line)
                    break
                self._in_comment, place = False, end + 3
                continue
            place = self._text_until_comment(number, line, place, kept)
        left = "".join(kept)
        if left.strip() or not (was_comment or line.strip()):
            directive = parse_directive(left.rstrip(), number) if may_ask else None
            if directive is None:
                self._keep(number, left)
            else:
                self._flush()
                self._found.pieces.append(directive)
                self._paragraph = False

    def _text_until_comment(self, number: int, line: str, place: int, kept: list[str]) -> int:
        """Keeps text up to the next comment or the end of the line; where it got to."""
        start = place
        while place < len(line):
            if self._span:
                end = _run_of(self._span, line, place)
                if end < 0:
                    place = len(line)
                    break
                self._span, place = "", end
                continue
            mark = _INLINE.search(line, place)
            if mark is None:
                place = len(line)
                break
            found = mark.group()
            place = mark.end()
            if found[0] == "`":
                if self._span_closes(number, line, place, found):
                    self._span = found
            elif found == "<!--":
                whole = _EMPTY_COMMENT.match(line, place)
                if whole or self._offset + place <= self._last_close:
                    kept.append(line[start : mark.start()])
                    self._in_comment = whole is None
                    return whole.end() if whole else place
                self._found.open_comment = self._found.open_comment or number
        kept.append(line[start:place])
        return place

    def _span_closes(self, number: int, line: str, place: int, run: str) -> bool:
        """Whether a run of backticks has its partner in this paragraph."""
        if _run_of(run, line, place) >= 0:
            return True
        for other in self._lines[number:]:
            if not other.strip() or _FENCE.match(other):
                return False
            if _run_of(run, other, 0) >= 0:
                return True
        return False


def _run_of(run: str, line: str, place: int) -> int:
    """Where a run of exactly these backticks ends in the line from ``place`` on, else -1."""
    for found in _RUN.finditer(line, place):
        if found.group() == run:
            return found.end()
    return -1


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    indent = len(line) - len(line.lstrip(" "))
    return indent <= 3 and len(stripped) >= len(fence) and set(stripped) == {fence[0]}
