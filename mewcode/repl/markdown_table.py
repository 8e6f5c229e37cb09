"""A Markdown table as lines that fit a width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from mewcode.repl.cell_width import cell_width
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.markdown_inline import parse_inline
from mewcode.repl.styled_text import Painter, StyledText, Styles

Align = Literal["left", "center", "right"]

_DELIMITER_ROW = re.compile(r" *\|? *:?-+:? *(?:\| *:?-+:? *)*+\|? *")
_CELL_END = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_LINE_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
# Columns narrower than this are not worth reading: the rows are then written as lists.
_LEAST_COLUMN = 5


def split_row(line: str) -> list[str]:
    """The cells of a row; ``\\|`` is a bar within a cell."""
    text = line.strip(" ")
    if text.startswith("|"):
        text = text[1:]
    cells: list[str] = []
    start = 0
    for match in _CELL_END.finditer(text):
        cells.append(text[start : match.end() - 1])
        start = match.end()
    if start < len(text) or not cells:
        cells.append(text[start:])
    return [cell.strip(" ").replace("\\|", "|") for cell in cells]


def read_delimiter_row(line: str) -> list[Align] | None:
    """The alignments that a line such as ``|:---|---:|`` sets; None where it is no such line."""
    if "|" not in line or not _DELIMITER_ROW.fullmatch(line):
        return None
    return [
        "center" if cell.startswith(":") and cell.endswith(":") else "right" if cell.endswith(":") else "left"
        for cell in split_row(line)
    ]


class Table:
    """A table that grows by rows. ``rows`` are those not yet rendered; column widths follow the widest cell
    seen and stay once rows were rendered."""

    __slots__ = ("aligns", "begun", "header", "natural", "rows", "written_out")

    def __init__(self, header: str, aligns: list[Align], written_out: bool) -> None:
        self.aligns = aligns
        self.written_out = written_out
        self.rows: list[list[StyledText]] = []
        self.natural = [1] * len(aligns)
        self.begun = False
        self.header = self._cells(header)

    def copy(self) -> Table:
        """One that grows on its own."""
        other = Table("", self.aligns, self.written_out)
        other.header, other.begun = self.header, self.begun
        other.rows, other.natural = list(self.rows), list(self.natural)
        return other

    def add(self, line: str) -> None:
        """A row; missing cells are empty, cells in excess stay in the last one, so that no text is lost."""
        self.rows.append(self._cells(line))

    def _cells(self, line: str) -> list[StyledText]:
        texts = split_row(line)
        count = len(self.aligns)
        if len(texts) > count:
            texts = [*texts[: count - 1], " | ".join(texts[count - 1 :])]
        texts += [""] * (count - len(texts))
        cells = [parse_inline(_LINE_BREAK.sub("\n", text), written_out=self.written_out) for text in texts]
        if not self.begun:
            for column, cell in enumerate(cells):
                self.natural[column] = max(self.natural[column], *map(cell_width, cell.text.split("\n")))
        return cells

    def render(self, painter: Painter, width: int, last: int | None = None) -> list[str]:
        """The lines of the rows that are due (``last``: of the last so many rows only), and before the first
        ones the header. Forgets the rows."""
        rows = self.rows if last is None else self.rows[-last:]
        widths = _fit(self.natural, width)
        if widths is None:
            lines = self._as_lists(painter, rows, width)
        else:
            lines = self._as_grid(painter, rows, widths)
        self.rows = []
        self.begun = True
        return lines

    def _as_grid(self, painter: Painter, rows: Sequence[list[StyledText]], widths: list[int]) -> list[str]:
        cross = painter.paint(("rule",), "─┼─".join("─" * width for width in widths))
        lines: list[str] = []
        if not self.begun:
            lines = [*self._row(painter, self.header, widths, ("bold",)), cross]
        rendered = [self._row(painter, row, widths, ()) for row in rows]
        # Where a row takes several lines, a rule tells the rows apart.
        ruled = any(len(row) > 1 for row in rendered)
        for number, row in enumerate(rendered):
            if ruled and (number or self.begun):
                lines.append(cross)
            lines += row
        return lines

    def _row(
        self, painter: Painter, cells: Sequence[StyledText], widths: list[int], base: Styles
    ) -> list[str]:
        columns = []
        for cell, width, align in zip(cells, widths, self.aligns, strict=True):
            ranges = break_lines(cell.text, width)
            plain = [cell.text[start:end] for start, end in ranges]
            painted = painter.lines(cell, ranges, base)
            columns.append([_pad(*pair, width, align) for pair in zip(plain, painted, strict=True)])
        bar = f" {painter.paint(('rule',), '│')} "
        height = max(map(len, columns))
        lines = []
        for number in range(height):
            parts = [
                column[number] if number < len(column) else " " * width
                for column, width in zip(columns, widths, strict=True)
            ]
            lines.append(bar.join(parts).rstrip(" "))
        return lines

    def _as_lists(self, painter: Painter, rows: Sequence[list[StyledText]], width: int) -> list[str]:
        """Each row as lines ``header: cell``, for a width that has no room for the columns."""
        lines: list[str] = []
        if not self.begun and not rows:
            for name in self.header:
                lines += painter.wrapped(name, width, ("bold",))
        for number, row in enumerate(rows):
            if number or self.begun:
                lines.append("")
            for name, cell in zip(self.header, row, strict=True):
                label = StyledText(name.text, [(0, len(name.text), ("bold",))]) if name.text else name
                lines += painter.wrapped(label + StyledText(": ") + cell, width)
        return lines


def _pad(plain: str, painted: str, width: int, align: Align) -> str:
    room = width - cell_width(plain)
    if align == "right":
        return " " * room + painted
    if align == "center":
        return " " * (room // 2) + painted + " " * (room - room // 2)
    return painted + " " * room


def _fit(natural: Sequence[int], width: int) -> list[int] | None:
    """Column widths that with their bars take at most ``width`` cells: the widest columns give way first.
    None where they would become too narrow to read."""
    room = width - 3 * (len(natural) - 1)
    if sum(natural) <= room:
        return list(natural)
    left, columns = room, len(natural)
    cap = 0
    for size in sorted(natural):
        cap = left // columns
        if size > cap:
            break
        left -= size
        columns -= 1
    if cap < _LEAST_COLUMN:
        return None
    spare = left - cap * columns
    widths = []
    for size in natural:
        wide = size > cap
        widths.append(cap + (spare > 0) if wide else size)
        spare -= wide
    return widths
