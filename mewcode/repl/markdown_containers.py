"""Quotes and list items: what they take from a line's beginning, and what the screen shows for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mewcode.repl.cell_width import cell_width
from mewcode.repl.styled_text import Painter

_MARKER = re.compile(r"(?:([-+*])|([0-9]{1,9})([.)]))( +|$)")
_TASK = re.compile(r"\[([ xX])\] +(?=[^ ])")
_BULLETS = "•◦▪"
# What a line's text keeps at least, in cells, however deep it is nested.
_LEAST_TEXT = 10
# Deeper than any text that is meant: bounds the work that a line of ">>>>..." can cause.
DEPTH_LIMIT = 24


class Marker:
    """A list item's beginning: ``kind`` tells its list from another, ``number`` is None for a bullet,
    ``indent`` is where its text begins, ``rest`` that text."""

    __slots__ = ("indent", "kind", "marker_indent", "number", "rest")

    def __init__(self, kind: str, number: int | None, marker_indent: int, indent: int, rest: str) -> None:
        self.kind = kind
        self.number = number
        self.marker_indent = marker_indent
        self.indent = indent
        self.rest = rest


def read_marker(line: str, spaces: int) -> Marker | None:
    """The list marker that stands in ``line`` behind ``spaces`` spaces."""
    match = _MARKER.match(line, spaces)
    if match is None:
        return None
    gap = len(match[4])
    rest = line[match.end() :]
    if gap > 4 or not rest:
        # The item begins with indented code, or with nothing.
        gap, rest = 1, line[match.end() - max(0, gap - 1) :] if rest else ""
    indent = match.end() - len(match[4]) + gap
    return Marker(match[1] or match[3], int(match[2]) if match[2] else None, spaces, indent, rest)


class Container:
    """A quote (``marker`` is empty) or a list item. ``shown``: a line of it is on the screen. ``first``: it
    begins its list."""

    __slots__ = ("first", "indent", "kind", "marker", "marker_indent", "number", "shown")

    def __init__(
        self,
        marker: str = "",
        kind: str = "",
        number: int | None = None,
        marker_indent: int = 0,
        indent: int = 0,
        first: bool = True,
        shown: bool = False,
    ) -> None:
        self.marker = marker
        self.kind = kind
        self.number = number
        self.marker_indent = marker_indent
        self.indent = indent
        self.first = first
        self.shown = shown

    def copy(self) -> Container:
        return Container(
            self.marker, self.kind, self.number, self.marker_indent, self.indent, self.first, self.shown
        )

    @property
    def is_item(self) -> bool:
        return bool(self.marker)


class Containers:
    """The open containers, outermost first. ``closed_item``: the item closed last and its depth, while the
    next one may belong to the same list."""

    __slots__ = ("closed_item", "stack")

    def __init__(
        self, stack: list[Container] | None = None, closed_item: tuple[int, Container] | None = None
    ) -> None:
        self.stack: list[Container] = stack or []
        self.closed_item = closed_item

    def copy(self) -> Containers:
        return Containers([container.copy() for container in self.stack], self.closed_item)

    @property
    def in_quote(self) -> bool:
        return any(not container.is_item for container in self.stack)

    def outermost_item(self) -> Container | None:
        return next((container for container in self.stack if container.is_item), None)

    def match(self, line: str) -> tuple[int, str]:
        """How many containers a line goes on with, from the outermost, and what is left of it for them."""
        for count, container in enumerate(self.stack):
            text = line.lstrip(" ")
            spaces = len(line) - len(text)
            if not container.is_item:
                if spaces > 3 or not text.startswith(">"):
                    return count, line
                line = text[2:] if text.startswith("> ") else text[1:]
            elif spaces >= container.indent:
                line = line[container.indent :]
            elif text and spaces >= container.marker_indent + 2 and read_marker(line, spaces):
                # Two spaces are meant as a deeper level below "1. " too, although it takes three.
                line = text
            elif text:
                return count, line
        return len(self.stack), line

    def open_quote(self) -> None:
        self.closed_item = None
        self.stack.append(Container())

    def open_item(self, marker: Marker) -> str:
        """Puts the item on the stack; returns the text that is left of its first line."""
        depth, number = len(self.stack), marker.number
        first = True
        if self.closed_item and self.closed_item[0] == depth and self.closed_item[1].kind == marker.kind:
            first = False
            before = self.closed_item[1].number
            if number is not None and before is not None:
                number = before + 1
        self.closed_item = None
        sign = f"{number}{marker.kind} " if number is not None else f"{self._bullet()} "
        rest = marker.rest
        task = _TASK.match(rest)
        if task:
            box = "☐ " if task[1] == " " else "☒ "
            sign = sign + box if number is not None else box
            rest = rest[task.end() :]
        self.stack.append(Container(sign, marker.kind, number, marker.marker_indent, marker.indent, first))
        return rest

    def _bullet(self) -> str:
        level = sum(container.is_item and container.number is None for container in self.stack)
        return _BULLETS[level % len(_BULLETS)]

    def close_last(self) -> None:
        container = self.stack.pop()
        self.closed_item = (len(self.stack), container) if container.is_item else None

    def prefixes(self, painter: Painter, width: int) -> tuple[str, str, int]:
        """What stands before the first line from now on, before the lines after it, and the cells that are
        left for text of ``width``. Where these would be too few, outer containers are not shown."""
        stack = self.stack
        if not stack:
            return "", "", width
        sizes = [cell_width(container.marker) or 2 for container in stack]
        used = sum(sizes)
        begin = 0
        while begin < len(stack) and used > max(0, width - (_LEAST_TEXT if begin < len(stack) - 1 else 2)):
            used -= sizes[begin]
            begin += 1
        return (
            self._painted(painter, stack[begin:], markers=True),
            self._painted(painter, stack[begin:], markers=False),
            width - used,
        )

    def gap_prefix(self, painter: Painter, width: int) -> str:
        """What stands on a blank line before the next block: the bars of the quotes that go on."""
        shown = 0
        while shown < len(self.stack) and self.stack[shown].shown:
            shown += 1
        last = max((at + 1 for at in range(shown) if not self.stack[at].is_item), default=0)
        part = Containers(self.stack[:last])
        return part.prefixes(painter, width)[1].rstrip(" ")

    def _painted(self, painter: Painter, stack: Sequence[Container], markers: bool) -> str:
        parts = []
        for container in stack:
            if not container.is_item:
                parts.append(painter.paint(("rule",), "│") + " ")
            elif markers and not container.shown:
                parts.append(painter.paint(("bullet",), container.marker.rstrip(" ")) + " ")
            else:
                parts.append(" " * cell_width(container.marker))
        return "".join(parts)
