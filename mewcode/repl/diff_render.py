"""A change of a file as lines: numbers of both sides, signs, changed words."""

from __future__ import annotations

from collections.abc import Iterable

from mewcode.core.outcome import DiffView
from mewcode.infra.terminal_text import visible_text
from mewcode.repl.cell_width import cell_width, cut_cells
from mewcode.repl.diff_lines import DiffLine, changes, count_changed, diff_lines, text_lines
from mewcode.repl.line_wrap import cut_lines
from mewcode.repl.screen_lines import TAB, more
from mewcode.repl.styled_text import Painter, Run, StyledText, Styles
from mewcode.repl.theme import Style, Theme

# With less room for text than this, line numbers are left out.
_LEAST_TEXT = 12
_LOOKS: dict[str, tuple[str, Styles, Styles]] = {
    "same": (" ", (), ()),
    "removed": ("-", ("removed",), ("removed_word",)),
    "added": ("+", ("added",), ("added_word",)),
}


def render_diff(
    view: DiffView, theme: Theme, width: int, max_lines: int, wrap: bool = False, first: int = 1
) -> tuple[str, list[str]]:
    """In a few words what changed ("+3 -1"), and the diff: at most ``max_lines`` lines and one that says how
    many more there are. Long lines are cut, or with ``wrap`` shown in full. ``first``: the number of the line
    that the texts begin with."""
    before, after = text_lines(view.before), text_lines(view.after)
    if view.created:
        count = len(after)
        stat = f"created, {count:,} line{'s' if count != 1 else ''}"
        rows: Iterable[DiffLine] = (
            DiffLine("added", None, number, line) for number, line in enumerate(after, 1)
        )
    else:
        found = changes(before, after)
        added, removed = count_changed(found)
        stat = f"+{added:,} -{removed:,}" if found else _same_lines(view)
        rows = diff_lines(before, after, found)
    if first > 1:
        rows = (row._replace(old=_moved(row.old, first - 1), new=_moved(row.new, first - 1)) for row in rows)
    digits = len(str(first - 1 + max(len(before), len(after))))
    return stat, _Rows(theme, width, digits, view.created, wrap).render(rows, max_lines)


def _moved(number: int | None, by: int) -> int | None:
    return None if number is None else number + by


def _same_lines(view: DiffView) -> str:
    return "no change" if view.before == view.after else "newline at the end changed"


class _Rows:
    def __init__(self, theme: Theme, width: int, digits: int, created: bool, wrap: bool) -> None:
        self._painter = Painter(theme)
        self._width = width
        self._digits = digits
        self._wrap = wrap
        self._columns = 1 if created else 2
        self._margin = self._columns * (digits + 1)
        if width - self._margin - 1 < _LEAST_TEXT:
            self._columns = self._margin = 0

    def render(self, rows: Iterable[DiffLine], max_lines: int) -> list[str]:
        lines: list[str] = []
        hidden = 0
        for row in rows:
            if hidden or len(lines) >= max_lines:
                hidden += row.kind != "skip"
                continue
            if row.kind == "skip":
                lines.append(self._painter.paint(("dim",), " " * max(0, self._margin - 1) + "⋮"))
                continue
            screen = self._row(row, max_lines - len(lines))
            # A row that is only partly shown counts as one that is not.
            hidden += len(screen) > max_lines - len(lines)
            lines += screen[: max_lines - len(lines)]
        if hidden:
            style: Style = "warn" if self._wrap else "dim"
            lines.append(more(self._painter.theme, hidden, self._width, style))
        return lines

    def _row(self, row: DiffLine, room: int) -> list[str]:
        sign, base, word_base = _LOOKS[row.kind]
        text_width = self._width - self._margin - 1
        styled = _shown(row, word_base, text_width * (room + 1) if self._wrap else 8 * text_width + 8)
        if self._wrap:
            ranges = cut_lines(styled.text, text_width)
        else:
            cut = cut_cells(styled.text, text_width)
            ranges = [(0, len(cut))]
            if cut != styled.text:
                kept = len(cut) - 1
                styled = StyledText(cut, [(a, min(b, kept), s) for a, b, s in styled.runs if a < kept])
        numbers = self._numbers(row)
        lines = self._painter.lines(styled, ranges, base)
        head = self._painter.paint(("dim",), numbers) + self._painter.paint(base, sign)
        below = " " * (self._margin + 1)
        return [(below if number else head) + line for number, line in enumerate(lines)]

    def _numbers(self, row: DiffLine) -> str:
        if not self._columns:
            return ""
        sides = (row.new,) if self._columns == 1 else (row.old, row.new)
        return "".join(f"{'' if side is None else side:>{self._digits}} " for side in sides)


def _shown(row: DiffLine, word_styles: Styles, limit: int) -> StyledText:
    """The text with tabs expanded and control characters spelt out, and where the changed words are then."""
    parts: list[str] = []
    runs: list[Run] = []
    column = at = 0
    text = row.text[:limit]
    for start, end in (*row.words, (len(text), len(text))):
        for first, last, marked in ((at, start, False), (start, end, True)):
            piece = _expanded(visible_text(text[first:last]), column)
            length = sum(map(len, parts))
            if marked and piece:
                runs.append((length, length + len(piece), word_styles))
            parts.append(piece)
            column += cell_width(piece)
        at = end
    if len(row.text) > limit:
        # Said in any case: what takes no cells could hide that something is left out.
        parts.append("…")
    return StyledText("".join(parts), runs)


def _expanded(text: str, column: int) -> str:
    """Tabs as spaces, for a text that begins in ``column``."""
    if "\t" not in text:
        return text
    return (" " * (column % TAB) + text).expandtabs(TAB)[column % TAB :]
