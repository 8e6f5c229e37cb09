"""The block structure of Markdown, line by line: each line changes the state and may yield finished lines.

What is committed never changes: a paragraph when it ends, code line by line, a list item's text when the item
ends, a table when it ends or is long. Blocks nest in containers (quotes and list items), which are a stack.
"""

from __future__ import annotations

from typing import Literal

from mewcode.repl.highlight import Highlighter
from mewcode.repl.line_wrap import break_lines, cut_lines
from mewcode.repl.markdown_containers import DEPTH_LIMIT, Containers, read_marker
from mewcode.repl.markdown_inline import join_lines, parse_inline
from mewcode.repl.markdown_lines import (
    LONG_PARAGRAPH,
    Fence,
    begins_html,
    cut_paragraph,
    interrupts,
    is_rule,
    is_underline,
    read_fence,
    read_heading,
)
from mewcode.repl.markdown_table import Table, read_delimiter_row, split_row
from mewcode.repl.styled_text import Painter, StyledText, Styles

# A table is committed in parts of so many rows.
LONG_TABLE = 200

_RULE_CELLS = 40
_CODE_INDENT = "  "

Leaf = Literal["", "paragraph", "heading", "rule", "fence", "code", "table", "html"]


class BlockReader:
    """Takes lines (cleaned, without their ends) and adds what becomes final to ``out``, a line an element.

    ``partial``: the reader is a copy that shows unfinished text; ``last_rows`` then limits a table's rows.
    """

    def __init__(self, width: int, painter: Painter) -> None:
        self.width = width
        self.out: list[str] = []
        self.partial = False
        self.last_rows: int | None = None
        self._painter = painter
        self._containers = Containers()
        self._leaf: Leaf = ""
        # Something of this leaf is committed.
        self._begun = False
        # Since the last block a blank line was read; what that block was ("" before the first).
        self._blank = False
        self._before: Leaf = ""
        self._paragraph: list[str] = []
        self._length = 0
        # The last line of a long paragraph's committed part: not full yet.
        self._carry: StyledText | None = None
        self._table: Table | None = None
        self._fence = Fence("`", 3, "")
        self._fence_indent = 0
        self._highlighter = Highlighter(None)
        self._blank_code = 0

    def copy(self) -> BlockReader:
        """One that goes on from here by itself, with nothing in ``out``."""
        other = BlockReader(self.width, self._painter)
        other._containers = self._containers.copy()
        other._leaf, other._begun = self._leaf, self._begun
        other._blank, other._before = self._blank, self._before
        other._paragraph, other._length = list(self._paragraph), self._length
        other._carry = self._carry
        other._table = self._table.copy() if self._table else None
        other._fence, other._fence_indent = self._fence, self._fence_indent
        other._blank_code = self._blank_code
        other._highlighter = self._highlighter.copy()
        return other

    def renewed(self) -> BlockReader:
        """One for a new text."""
        return BlockReader(self.width, self._painter)

    @property
    def idle(self) -> bool:
        """Nothing is open that `close` would show."""
        return not self._leaf and all(container.shown for container in self._containers.stack)

    @property
    def in_code(self) -> bool:
        return self._leaf == "fence"

    def line(self, text: str) -> None:
        """The next line."""
        text = text.expandtabs(4) if "\t" in text else text
        stack = self._containers.stack
        count, rest = self._containers.match(text) if stack else (0, text)
        whole = count == len(stack)
        if self._leaf == "fence" and whole:
            self._code_or_end(rest)
        elif not rest.strip(" "):
            self._blank_line(count)
        else:
            rest, opened = self._open_containers(rest, count)
            if not opened and not whole:
                if self._leaf == "paragraph" and not interrupts(rest):
                    # A paragraph goes on although its quote's or item's sign is missing.
                    self._add_to_paragraph(rest)
                    return
                self._close_to(count)
            if rest.strip(" "):
                self._leaf_line(rest)

    def more_of_line(self, text: str) -> None:
        """A further piece of a line that was too long to wait for."""
        if self._leaf == "paragraph":
            self._paragraph[-1] += text
            self._length += len(text)
            self._commit_long_paragraph()
        elif self._leaf in ("fence", "code"):
            self._code_line(text)
        elif self._leaf == "html":
            self._html_line(text)
        else:
            self._close_leaf()
            self._add_to_paragraph(text)

    def close(self) -> None:
        """Nothing more comes: what is open is final."""
        self._close_before(0)

    def _blank_line(self, count: int) -> None:
        self._close_to(count)
        if self._leaf == "code":
            self._blank_code += 1
        else:
            self._close_leaf()
            self._blank = True

    def _open_containers(self, rest: str, count: int) -> tuple[str, bool]:
        """Opens the quotes and items that begin in ``rest``; what is left, and whether any was."""
        containers, opened = self._containers, False
        while count < DEPTH_LIMIT:
            text = rest.lstrip(" ")
            spaces = len(rest) - len(text)
            if spaces > 3 or not text or (text[0] not in ">-+*" and not text[0].isdigit()):
                break
            if text[0] == ">":
                self._close_before(count)
                containers.open_quote()
                rest = text[2:] if text.startswith("> ") else text[1:]
            else:
                marker = None if is_rule(text) else read_marker(rest, spaces)
                if marker is None:
                    break
                within = self._leaf == "paragraph" and count == len(containers.stack)
                if within and (not marker.rest or marker.number not in (None, 1)):
                    break
                self._close_before(count)
                rest = containers.open_item(marker)
            opened = True
            count += 1
        return rest, opened

    def _leaf_line(self, rest: str) -> None:
        text = rest.lstrip(" ")
        spaces = len(rest) - len(text)
        if self._leaf == "html":
            self._html_line(rest)
        elif spaces > 3:
            if self._leaf == "paragraph":
                self._add_to_paragraph(text)
            else:
                self._indented_code(rest[4:])
        elif not self._block_start(text, spaces):
            if self._leaf == "table" and "|" in text:
                assert self._table is not None
                self._table.add(text)
                if len(self._table.rows) >= LONG_TABLE and not self.partial:
                    self._emit_table()
            else:
                self._add_to_paragraph(text)

    def _block_start(self, text: str, spaces: int) -> bool:
        """Takes a line that begins a block of its own, or turns the paragraph before it into one."""
        first = text[0]
        if first in "`~" and (fence := read_fence(text)):
            self._close_leaf()
            self._leaf = "fence"
            self._fence, self._fence_indent = fence, spaces
            info = "" if self._painter.colourless else fence.info
            self._highlighter = Highlighter.for_info(info)
            return True
        if first == "#" and (heading := read_heading(text)):
            self._close_leaf()
            self._heading(*heading)
            return True
        if self._leaf == "paragraph":
            if first in "=-" and not self._carry and is_underline(text):
                title = join_lines(self._paragraph)
                self._drop_leaf()
                self._heading(1 if first == "=" else 2, title)
                return True
            if first in "|-:" and self._begin_table(text):
                return True
        if is_rule(text):
            self._close_leaf()
            self._leaf = "rule"
            self._emit([self._painter.paint(("rule",), "─" * min(self._room(), _RULE_CELLS))])
            self._drop_leaf()
            return True
        if first == "<" and begins_html(text, self._leaf == "paragraph"):
            self._close_leaf()
            self._leaf = "html"
            self._html_line(text)
            return True
        return False

    def _begin_table(self, text: str) -> bool:
        aligns = read_delimiter_row(text)
        header = self._paragraph[-1]
        if aligns is None or len(split_row(header)) != len(aligns) or len(header) > LONG_PARAGRAPH:
            return False
        if len(self._paragraph) > 1 or self._carry:
            self._paragraph.pop()
            self._close_leaf()
        self._drop_leaf()
        self._leaf = "table"
        self._table = Table(header, aligns, self._painter.colourless)
        return True

    def _heading(self, level: int, title: str) -> None:
        self._leaf = "heading"
        if self._painter.colourless:
            title = f"{'#' * level} {title}"
        shape: Styles = ("heading", "underline") if level == 1 else ("heading",)
        self._emit_text(
            parse_inline(title, written_out=self._painter.colourless, partial=self.partial), shape
        )
        self._drop_leaf()

    def _add_to_paragraph(self, text: str) -> None:
        if self._leaf != "paragraph":
            self._close_leaf()
            self._leaf = "paragraph"
        text = text.lstrip(" ")
        self._paragraph.append(text)
        self._length += len(text) + 1
        self._commit_long_paragraph()

    def _commit_long_paragraph(self) -> None:
        while self._length > LONG_PARAGRAPH:
            raw = join_lines(self._paragraph)
            cut, rest = cut_paragraph(raw)
            styled = self._inline(raw[:cut], cut < rest)
            ranges = break_lines(styled.text, self._room())
            self._emit(self._painter.lines(styled, ranges[:-1], self._base()))
            self._carry = styled.from_index(ranges[-1][0])
            # A hard break at the end of the last line is still to come into effect.
            self._paragraph = [raw[rest:] + ("  " if self._paragraph[-1].endswith("  ") else "")]
            self._length = len(self._paragraph[0])

    def _inline(self, raw: str, spaced: bool = False) -> StyledText:
        """A paragraph's text, after what was carried over; with a space behind it where asked."""
        styled = parse_inline(raw, written_out=self._painter.colourless, partial=self.partial)
        if spaced:
            styled = styled + StyledText(" ")
        return self._carry + styled if self._carry else styled

    def _code_or_end(self, rest: str) -> None:
        if self._fence.closed_by(rest):
            self._drop_leaf()
        else:
            indent = min(self._fence_indent, len(rest) - len(rest.lstrip(" ")))
            self._code_line(rest[indent:])

    def _indented_code(self, text: str) -> None:
        if self._leaf != "code":
            self._close_leaf()
            self._leaf = "code"
            self._highlighter = Highlighter(None)
        for _ in range(self._blank_code):
            self._code_line("")
        self._blank_code = 0
        self._code_line(text)

    def _code_line(self, text: str) -> None:
        room = self._room()
        indent = _CODE_INDENT if room > 10 else ""
        styled = StyledText(text, self._highlighter.line(text))
        lines = self._painter.lines(styled, cut_lines(text, room - len(indent)))
        self._emit([indent + line if line else "" for line in lines])

    def _html_line(self, text: str) -> None:
        self._emit_text(StyledText(text))

    def _close_before(self, count: int) -> None:
        """Closes what a container that opens at depth ``count`` ends."""
        self._close_to(count)
        self._close_leaf()

    def _close_to(self, count: int) -> None:
        stack = self._containers.stack
        if len(stack) > count:
            self._close_leaf()
        while len(stack) > count:
            if not stack[-1].shown:
                self._emit([""])
            self._containers.close_last()

    def _close_leaf(self) -> None:
        if self._leaf == "paragraph":
            self._emit_text(self._inline(join_lines(self._paragraph)))
        elif self._leaf == "table":
            self._emit_table()
        elif self._leaf == "code" and self._blank_code:
            self._blank = True
        self._drop_leaf()

    def _drop_leaf(self) -> None:
        self._leaf = ""
        self._begun = False
        self._paragraph = []
        self._length = self._blank_code = 0
        self._carry = self._table = None

    def _emit_table(self) -> None:
        assert self._table is not None
        if self._table.rows or not self._table.begun:
            self._emit(self._table.render(self._painter, self._room(), self.last_rows))

    def _emit_text(self, styled: StyledText, shape: Styles = ()) -> None:
        self._emit(self._painter.wrapped(styled, self._room(), self._base() + shape))

    def _room(self) -> int:
        return self._containers.prefixes(self._painter, self.width)[2]

    def _base(self) -> Styles:
        return ("quote",) if self._containers.in_quote else ()

    def _emit(self, lines: list[str]) -> None:
        """Commits lines of the leaf, behind the signs of its containers."""
        if not lines:
            return
        if not self._begun:
            if self._gap_is_due():
                self.out.append(self._containers.gap_prefix(self._painter, self.width))
            self._begun = True
            self._blank = False
            self._containers.closed_item = None
            self._before = self._leaf or "paragraph"
        if not self._containers.stack:
            self.out += lines
            return
        first, rest, _ = self._containers.prefixes(self._painter, self.width)
        for number, line in enumerate(lines):
            prefix = rest if number else first
            self.out.append(prefix + line if line else prefix.rstrip(" "))
        for container in self._containers.stack:
            container.shown = True

    def _gap_is_due(self) -> bool:
        """Blocks stand apart by a blank line; within a list, and where one follows its introduction, only
        where the text has one."""
        if not self._before or self._blank:
            return bool(self._before)
        item = self._containers.outermost_item()
        if item is None:
            return True
        return item.first and not item.shown and self._before != "paragraph"
