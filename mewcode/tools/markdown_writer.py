"""Markdown put together block by block, from what an HTML page says one piece after the other.

A block is a paragraph, heading, list item, fenced code or table. Text is collected until the block ends;
lists and quotations are containers that give each of its lines a prefix.
"""

from __future__ import annotations

import re

_BLANKS = re.compile("[ \t\n\r\f\xa0\u200b]+")
# A line break within a block, until the block is put together; no other text of a page may hold one.
_BREAK = "\x0b"
_AROUND_BREAK = re.compile(f" *{_BREAK} *")
# Lists and quotations deeper than this are written as if they were this deep.
_DEEPEST = 12
_MOST_COLUMNS = 60


class _Container:
    """A quotation or a list item. ``marker`` stands before its first line, ``indent`` before the others."""

    __slots__ = ("indent", "is_item", "marker")

    def __init__(self, marker: str, indent: str, *, is_item: bool) -> None:
        self.marker, self.indent, self.is_item = marker, indent, is_item


class _Table:
    """Rows of cells. ``layout``: it only arranges the page, and what it holds is written as plain blocks."""

    __slots__ = ("layout", "row", "rows")

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.row: list[str] = []
        self.layout = False


class MarkdownWriter:
    """``size`` is about how many characters were written so far; the result is `markdown`."""

    def __init__(self) -> None:
        self.size = 0
        self._blocks: list[str] = []
        self._inline: list[str] = []
        self._containers: list[_Container] = []
        self._tables: list[_Table] = []
        self._heading = ""
        self._link_start = 0
        self._link = ""
        self._after_item = False

    def markdown(self) -> str:
        self.end_block()
        return "".join(self._blocks).strip("\n")

    # Within a block.

    def text(self, text: str) -> None:
        self._inline.append(text)
        self.size += len(text) if not text.isspace() else 1

    def line_break(self) -> None:
        self._inline.append(_BREAK)

    def open_link(self, target: str) -> None:
        """Ends at `close_link`; where a block ends before, it is the link's text."""
        self._link, self._link_start = target, len(self._inline)
        self.size += len(target)

    def close_link(self) -> None:
        if self._link and self._link_start <= len(self._inline):
            words = _collapse(self._inline[self._link_start :]).replace("\n", " ")
            if words:
                lead = " " if self._inline[self._link_start][:1].isspace() else ""
                trail = " " if self._inline[-1][-1:].isspace() else ""
                del self._inline[self._link_start :]
                self._inline.append(f"{lead}[{words}]({self._link}){trail}")
        self._link = ""

    @property
    def mark(self) -> int:
        """Where the block's text has got to, for `code_since`."""
        return len(self._inline)

    def code_since(self, mark: int) -> None:
        """Makes the text since ``mark`` inline code."""
        code = _collapse(self._inline[mark:]).replace("\n", " ")
        if code:
            del self._inline[mark:]
            ticks = "`" * (_longest_run(code) + 1)
            pad = " " if "`" in code else ""
            self._inline.append(f"{ticks}{pad}{code}{pad}{ticks}")

    # Blocks.

    def begin_heading(self, level: int) -> None:
        self.end_block(needs_layout=True)
        self._heading = "#" * level + " "

    def end_heading(self) -> None:
        self.end_block()
        self._heading = ""

    def end_block(self, *, needs_layout: bool = False) -> None:
        """Ends the block that is being written. Within a table's cell that is but a blank, unless what comes
        ``needs_layout`` (a list, code, another table), which makes the table one that arranges the page."""
        if self._tables and not self._tables[-1].layout:
            if not needs_layout:
                self._inline.append(" ")
                return
            self._make_layout(self._tables[-1])
        target = self._link
        self.close_link()
        text = _collapse(self._inline)
        self._inline.clear()
        if target and not text:
            self._link, self._link_start = target, 0
        if text:
            text = text.replace("\n", " ") if self._heading else text
            self._write(self._heading + text)

    def fenced(self, code: str, language: str) -> None:
        """A block of code, as it stands."""
        self.end_block(needs_layout=True)
        code = code.expandtabs(8).strip("\n").rstrip()
        if code:
            fence = "`" * max(3, _longest_run(code) + 1)
            self._write(f"{fence}{language}\n{code}\n{fence}")
            self.size += len(code)

    def rule(self) -> None:
        self.end_block(needs_layout=True)
        self._write("---")

    def begin_quotation(self) -> None:
        self.end_block(needs_layout=True)
        self._containers.append(_Container("> ", "> ", is_item=False))

    def begin_item(self, marker: str) -> None:
        self.end_block(needs_layout=True)
        self._containers.append(_Container(marker, " " * len(marker), is_item=True))

    def end_container(self) -> None:
        self.end_block()
        if self._containers:
            self._containers.pop()

    # Tables.

    def begin_table(self) -> None:
        self.end_block(needs_layout=True)
        self._tables.append(_Table())

    def end_cell(self) -> None:
        if self._tables and not self._tables[-1].layout:
            self.close_link()
            self._tables[-1].row.append(_collapse(self._inline).replace("\n", " "))
            self._inline.clear()
        else:
            self.end_block()

    def end_row(self) -> None:
        self.end_stray_cell()
        if self._tables:
            table = self._tables[-1]
            if any(table.row):
                table.rows.append(table.row)
            table.row = []

    def end_stray_cell(self) -> None:
        """Text in a table but in no cell: browsers show it before the table, here it gets a cell."""
        if _collapse(self._inline):
            self.end_cell()
        elif self._tables and not self._tables[-1].layout:
            self._inline.clear()

    def end_table(self) -> None:
        if not self._tables:
            return
        self.end_row()
        table = self._tables.pop()
        width = max(map(len, table.rows), default=0)
        if table.layout or width < 2 or width > _MOST_COLUMNS:
            self._write_rows(table.rows)
            return
        rows = [[cell.replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in table.rows]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, "|" + " --- |" * width)
        self._write("\n".join(lines))

    def _make_layout(self, table: _Table) -> None:
        table.layout = True
        rows, table.rows = [*table.rows, table.row], []
        table.row = []
        self._write_rows(rows)

    def _write_rows(self, rows: list[list[str]]) -> None:
        for row in rows:
            text = " ".join(filter(None, row))
            if text:
                self._write(text)

    def _write(self, block: str) -> None:
        first = next((box for box in self._containers[:_DEEPEST] if box.marker != box.indent), None)
        starts_item = first is not None and first.is_item
        rest = "".join(box.indent for box in self._containers[:_DEEPEST])
        lead = "".join(box.marker for box in self._containers[:_DEEPEST])
        for box in self._containers:
            box.marker = box.indent
        lines = block.split("\n")
        self.size += len(rest) * len(lines)
        text = "\n".join([lead + lines[0], *((rest + line).rstrip() for line in lines[1:])])
        gap = "\n" if starts_item and self._after_item else "\n\n"
        self._blocks.append(gap + text)
        self._after_item = any(box.is_item for box in self._containers)


def _collapse(pieces: list[str]) -> str:
    text = _BLANKS.sub(" ", "".join(pieces))
    return _AROUND_BREAK.sub("\n", text).strip(" \n") if _BREAK in text else text.strip(" ")


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
