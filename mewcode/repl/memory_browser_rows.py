"""The rows of the browser of notes as ANSI lines, and on one line what is known of the selected one."""

from __future__ import annotations

import time

from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.cell_width import cell_width, cut_cells
from mewcode.repl.duration import duration
from mewcode.repl.frame import RESET, REVERSE, padded
from mewcode.repl.memory_browser_items import ChangeItem, FileItem, Item, NoteItem
from mewcode.repl.picker_rows import short_age
from mewcode.repl.theme import Theme

# The sign of the selected row, three marks, and the blank behind them.
_LEAD = 2 + 4
# Cells of a column with the two blanks at its side, and the widths from which on it is there.
_TYPE, _TYPE_FROM = 11, 50
_AGE, _AGE_FROM = 8, 40
# Cells from which on a description stands behind the name, which keeps at least so many.
_SAID_FROM, _NAME = 45, 22
_WHEN, _BY = 18, 8

TYPE_WORDS = {
    "user_preference": "user",
    "correction_feedback": "feedback",
    "project_knowledge": "project",
    "reference_material": "reference",
}
"""The types in a word each, as they may be typed."""
STANDING_WORDS = {"live": "in force", "inbox": "waits for your yes"}
"""What a state is called, where its own name does not say it."""
BY_WORDS = {"user": "you", "hand": "you, in the file", "tidy": "upkeep"}


def item_row(item: Item, width: int, theme: Theme, now: float, *, selected: bool) -> str:
    """An item's row. The selected one is reversed as a whole, and has a sign in front."""
    if isinstance(item, NoteItem):
        parts = _note_parts(item, width, now)
    elif isinstance(item, FileItem):
        parts = _file_parts(item, width)
    else:
        parts = _change_parts(item, width)
    marks, text, more = parts
    if selected:
        line = f"❯ {marks} {text}{more}"
        return f"{REVERSE}{padded(line, width)}{RESET}"
    shown = cut_cells(text, max(0, width - _LEAD))
    left = max(0, width - _LEAD - cell_width(shown))
    return f"  {theme.paint('warn', marks)} {shown}{theme.paint('dim', cut_cells(more, left))}"


def _note_parts(item: NoteItem, width: int, now: float) -> tuple[str, str, str]:
    entry, room = item.entry, max(1, width - _LEAD)
    kind = age = ""
    if width >= _TYPE_FROM:
        kind = padded(TYPE_WORDS[entry.type], _TYPE - 2) + "  "
        room -= _TYPE
    if width >= _AGE_FROM:
        words = short_age(now - item.changed) if item.changed else ""
        age = "  " + words.rjust(_AGE - 2)
        room -= _AGE
    name, said = safe_line(entry.name, room + 1) or safe_line(entry.file), ""
    if room >= _SAID_FROM:
        cells = max(_NAME, room * 2 // 5)
        said = "  " + padded(safe_line(entry.line, room + 1), room - cells - 2)
        room = cells
    return _marks(item), kind + padded(name, room), said + age


def _marks(item: NoteItem) -> str:
    entry = item.entry
    state = {"live": " ", "inbox": "?", "forgotten": "x"}.get(item.standing, "-")
    return "".join((
        "*" if entry.pinned else " ",
        "~" if entry.level == "user" else " ",
        "!" if entry.problem or entry.conflicts_with else state,
    ))  # fmt: skip


def _file_parts(item: FileItem, width: int) -> tuple[str, str, str]:
    shown = "  " * item.depth + safe_line(item.shown, width)
    return "  !" if item.problems else "   ", shown, f"  {safe_line(item.about)}"


def _change_parts(item: ChangeItem, width: int) -> tuple[str, str, str]:
    first = item.first
    what = safe_line(item.what, width + 1)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(first.ts))
    if width < _TYPE_FROM:
        return " - " if item.is_undone else "   ", what, ""
    head = padded(when, _WHEN) + padded(first.by, _BY)
    return " - " if item.is_undone else "   ", head + what, "  taken back" if item.is_undone else ""


def details(item: Item, now: float) -> str:
    """What the row has no room for, what matters most first."""
    if isinstance(item, FileItem):
        return safe_line(" · ".join((*item.problems, item.about)), 500)
    if isinstance(item, ChangeItem):
        first = item.first
        return " · ".join(
            filter(
                None,
                (f"by {by_words(first.by)}", safe_line(redact(first.reason), 120), safe_line(first.id, 40)),
            )
        )
    entry = item.entry
    parts = (
        "! the file's head is broken" if entry.problem else "",
        f"! contradicts {safe_line(entry.conflicts_with, 80)}" if entry.conflicts_with else "",
        STANDING_WORDS.get(item.standing, item.standing) if item.standing != "live" else "",
        "* pinned" if entry.pinned else "",
        f"{entry.level} level",
        f"from {entry.origin}",
        updated_words(item, now),
        use_words(item, now),
        " ".join(f"#{safe_line(tag, 20)}" for tag in entry.tags[:5]),
        safe_line(entry.file, 120),
    )
    return " · ".join(filter(None, parts))


def updated_words(item: NoteItem, now: float) -> str:
    """``updated 12 days ago``; "" where nobody knows."""
    if not item.changed:
        return ""
    return f"{'forgotten' if item.deletion else 'updated'} {duration(now - item.changed)} ago"


def use_words(item: NoteItem, now: float) -> str:
    """``used 3 times, last 2 h 5 min ago``; "" where it was not."""
    count = item.use.count
    if not count:
        return ""
    times = "once" if count == 1 else f"{count:,} times"
    return f"used {times}, last {duration(now - item.use.last)} ago"


def by_words(by: str) -> str:
    """Who made a change."""
    return BY_WORDS.get(by, f"the {by}")
