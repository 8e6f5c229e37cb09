"""The rows of the picker as ANSI lines: columns by width, marks, hits, what is known of the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.cell_width import cell_width, cut_cells
from mewcode.repl.frame import RESET, REVERSE, padded
from mewcode.repl.picker_list import HITS_SHOWN, ShownHit
from mewcode.repl.theme import Theme

if TYPE_CHECKING:
    from mewcode.sessions.catalog_entry import CatalogEntry

Name = Literal["age", "messages", "size", "branch", "folder", "model"]

# Cells of a column with the two blanks before it, in the order in which they are given up.
_COLUMNS: tuple[tuple[Name, int], ...] = (
    ("age", 8), ("messages", 8), ("size", 10), ("branch", 18), ("folder", 26), ("model", 22),
)  # fmt: skip
_HEADERS: dict[Name, str] = {"age": "age", "messages": "msgs", "size": "size"}
_RIGHT = frozenset(("age", "messages", "size"))
# Cells that a title keeps before a column is given up.
_TITLE = 36
# The sign of the selected row, three marks, and the blanks behind them.
_LEAD = 2 + 4

_MATCH = "\x1b[1;4m"


@dataclass(frozen=True, slots=True)
class Columns:
    """``width`` of a row, ``title`` cells for the title, and the columns behind it."""

    width: int
    title: int
    names: tuple[tuple[Name, int], ...]


@dataclass(frozen=True, slots=True)
class Marks:
    """What is said of a session by signs. ``open``: another window has it."""

    current: bool = False
    open: bool = False


def columns_for(width: int, *, wide: bool, branches: bool) -> Columns:
    """The columns that fit. ``wide``: the sessions are of several folders, which matters more than all but
    the age; ``branches``: whether there are any."""
    order = [column for column in _COLUMNS if branches or column[0] != "branch"]
    if wide:
        first: dict[Name, int] = {"age": 0, "folder": 1}
        order.sort(key=lambda column: first.get(column[0], len(first)))
    names: list[tuple[Name, int]] = []
    left = max(0, width - _LEAD)
    for name, cells in order:
        if left - cells < _TITLE and not (name == "age" and left >= 2 * cells):
            break
        names.append((name, cells))
        left -= cells
    return Columns(width, left, tuple(names))


def header_row(columns: Columns, theme: Theme) -> str:
    names = "".join(_cell(name, _HEADERS.get(name, name), cells) for name, cells in columns.names)
    return theme.paint("dim", " " * min(_LEAD, columns.width) + padded("title", columns.title) + names)


def session_row(
    entry: CatalogEntry, columns: Columns, marks: Marks, theme: Theme, now: float, *, selected: bool
) -> str:
    """A session's row. The selected one is reversed as a whole, and has a sign in front."""
    title = safe_line(entry.title, columns.title + 1)
    texts = {name: value(entry, name, now) for name, _ in columns.names}
    cells = [_cell(name, texts[name], cells) for name, cells in columns.names]
    signs = _signs(entry, marks)
    shown = padded(title or safe_line(entry.id), columns.title)
    if selected:
        return f"{REVERSE}❯ {signs} {shown}{''.join(cells)}{RESET}"
    return "".join((
        f"  {theme.paint('warn', signs)} ",
        shown if title else theme.paint("dim", shown),
        theme.paint("dim", "".join(cells)),
    ))  # fmt: skip


def value(entry: CatalogEntry, name: Name, now: float) -> str:
    """What stands in a column, safe to show; "" where it is not known."""
    if name == "age":
        return short_age(now - entry.updated)
    if name == "messages":
        count = f"{entry.messages:,}" if entry.messages else ""
        if entry.parent_session:  # its file holds what was said since
            return f"+{count}" if count else "fork"
        return count
    if name == "size":
        return short_size(entry.size) if entry.size else ""
    if name == "folder":
        return folder_of(entry)
    return safe_line(entry.branch if name == "branch" else entry.model, 60)


def folder_of(entry: CatalogEntry) -> str:
    """The end of the folder that the session worked in, else of its workspace."""
    parts = (entry.cwd or entry.folder).rstrip("/").split("/")
    return safe_line("/".join(parts[-2:]), 60)


def _signs(entry: CatalogEntry, marks: Marks) -> str:
    return "".join((
        "*" if entry.pinned else " ",
        "▸" if marks.current else "●" if marks.open else " ",
        "!" if entry.damaged else "↳" if entry.parent_session else " ",
    ))  # fmt: skip


def hit_row(hit: ShownHit, width: int, theme: Theme) -> str:
    """A hit: its turn, and the snippet with the matches marked, cut so that the first is seen."""
    lead = f"{' ' * _LEAD}{hit.turn:>4} "
    text, spans = _around(hit, width - len(lead))
    line, at = theme.paint("dim", lead), 0
    for start, end in spans:
        line += theme.paint("dim", text[at:start]) + _MATCH + text[start:end] + RESET
        at = end
    return line + theme.paint("dim", text[at:])


def _around(hit: ShownHit, width: int) -> tuple[str, list[tuple[int, int]]]:
    text, start = hit.snippet, 0
    if hit.spans and cell_width(text[: hit.spans[0][1]]) > width:
        # The match, with some of what stands before it.
        start = max(0, hit.spans[0][0] - width // 4)
        text = "…" + text[start + 1 :]
    text = cut_cells(text, max(0, width))
    end = len(text) - text.endswith("…")
    moved = ((max(0, a - start), min(b - start, end)) for a, b in hit.spans)
    return text, [(a, b) for a, b in moved if a < b]


def details(entry: CatalogEntry, *, is_current: bool, holder: str, parent: str, more_hits: int) -> str:
    """What the row has no room for, what matters most first. ``holder``: who has it open, in words;
    ``parent``: what it was forked off."""
    parts = [
        f"{more_hits} more hits" if more_hits > 0 else "",
        "this session" if is_current else f"● open in another window ({holder})" if holder else "",
        f"! {entry.damaged} damaged lines" if entry.damaged else "",
        "* pinned" if entry.pinned else "",
        f"↳ fork of {safe_line(parent, 40)}" if parent else "",
        " ".join(f"#{safe_line(tag, 20)}" for tag in entry.tags[:5]),
        safe_line(entry.branch, 40),
        safe_line(entry.model, 40),
        safe_line(entry.cwd or entry.folder, 120),
        safe_line(entry.id, 40),
    ]
    return " · ".join(filter(None, parts))


def more_hits(hits: Sequence[ShownHit]) -> int:
    """Hits of a session that have no row."""
    return len(hits) - HITS_SHOWN


def short_age(seconds: float) -> str:
    """``now``, ``5 min``, ``3 h``, ``12 d``, ``7 mon``, ``2 y``."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return "now"
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    if hours < 48:
        return f"{hours} h"
    days = hours // 24
    if days < 60:
        return f"{days} d"
    return f"{days // 30} mon" if days < 730 else f"{days // 365} y"


def short_size(count: int) -> str:
    """Bytes in the largest unit that keeps a digit before the point: ``512 B``, ``1.5 KB``."""
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 999.95:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def _cell(name: Name, text: str, cells: int) -> str:
    shown = padded(text, cells - 2)
    if name in _RIGHT:
        bare = shown.rstrip()
        shown = " " * (len(shown) - len(bare)) + bare
    return "  " + shown
