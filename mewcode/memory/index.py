"""``MEMORY.md``, and what of it a prompt holds. Both are made of entries alone: the same notes give the same
text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mewcode.memory.entry import MOST_CORE, Entry, Use
from mewcode.memory.note import TYPES, Level

TITLE = "# Notes"
CORE_TITLE = "## Core rules"
_WARNING = "<!-- Made by MewCode from the notes beside it: change those, not this file. -->"
MOST_LINES = 200
MOST_BYTES = 25_600
"""Lines and bytes of all notes in a prompt."""
LEVEL_TITLES: dict[Level, str] = {"project": "## Notes of this project", "user": "## Notes of the user"}

Uses = Callable[[Entry], Use]


def cut_words(more: int) -> str:
    """What stands in a prompt where not all notes are listed."""
    return f"(index truncated: {more} more; search_notes finds them)"


def index_line(entry: Entry) -> str:
    """A note's line."""
    head = f"- [{entry.type}] [{entry.name}]({entry.file})"
    return f"{head} — {entry.line}" if entry.line else head


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """The order of an index: pinned ones, then by type, then by name."""
    return sorted(entries, key=_place)


def _place(entry: Entry) -> tuple[bool, int, str, str, str]:
    return not entry.pinned, TYPES.index(entry.type), entry.name.casefold(), entry.name, entry.file


def index_text(live: Sequence[Entry], uses: Uses) -> str:
    """``MEMORY.md`` of a level, for the notes that are in force."""
    lines = [TITLE, _WARNING, "", *map(index_line, in_order(live))]
    core = core_rules(live, uses)
    if core:
        lines += ["", CORE_TITLE]
        for entry in core:
            lines += ["", core_text(entry)]
    return "\n".join(lines) + "\n"


def core_rules(live: Sequence[Entry], uses: Uses, limit: int = MOST_CORE) -> list[Entry]:
    """The notes that stand whole: those pinned and those of corrections, the most used first, as many as fit
    in ``limit`` bytes; a note that does not fit is left out, a smaller one behind it may not be."""
    wanted = [entry for entry in live if entry.core]
    wanted.sort(key=lambda entry: (-uses(entry).count, -uses(entry).last, _place(entry)))
    found, size = [], 0
    for entry in wanted:
        room = len(core_text(entry).encode()) + 2
        if size + room <= limit:
            found.append(entry)
            size += room
    return found


def core_text(entry: Entry) -> str:
    """A core rule as it stands below an index."""
    return f"### {entry.name}\n{entry.core}"


def prompt_text(live: Sequence[Entry], uses: Uses) -> str:
    """The notes as a prompt has them, the project's before the user's; "" where there are none.

    At most `MOST_LINES` lines and `MOST_BYTES` bytes. Core rules first get their room, then the lines of the
    index, of which the least used are left out: pinned ones last, and of those used alike the ones that were
    changed longest ago.
    """
    if not live:
        return ""
    core = core_rules(live, uses)
    tail = _core_part(core)
    while tail and len(tail) > MOST_LINES // 2:
        core.pop()
        tail = _core_part(core)
    listed = _fitting(live, uses, MOST_LINES - len(tail), MOST_BYTES - _size(tail))
    lines = _index_part(listed)
    if len(listed) < len(live):
        lines += [cut_words(len(live) - len(listed))]
    return "\n".join([*lines, *tail])


def _core_part(core: Sequence[Entry]) -> list[str]:
    if not core:
        return []
    lines = ["", CORE_TITLE]
    for entry in core:
        lines += core_text(entry).split("\n")
    return lines


def _index_part(listed: Sequence[Entry]) -> list[str]:
    lines: list[str] = []
    for level, title in LEVEL_TITLES.items():
        of_level = [entry for entry in listed if entry.level == level]
        if of_level:
            lines += [title, *map(index_line, in_order(of_level))]
    return lines


def _fitting(live: Sequence[Entry], uses: Uses, lines: int, size: int) -> list[Entry]:
    """As many entries as fit beside the titles, the most used first."""
    levels = {entry.level for entry in live}
    titles = [LEVEL_TITLES[level] for level in levels]
    lines -= len(titles)
    size -= _size(titles)
    if len(live) <= lines and _size([index_line(entry) for entry in live]) <= size:
        return list(live)
    lines -= 1
    size -= len(cut_words(len(live)).encode()) + 1
    found: list[Entry] = []
    for entry in _most_used_first(live, uses):
        size -= len(index_line(entry).encode()) + 1
        if len(found) == lines or size < 0:
            break
        found.append(entry)
    return found


def _most_used_first(live: Sequence[Entry], uses: Uses) -> list[Entry]:
    ranked = sorted(live, key=lambda entry: (entry.level, entry.file))
    ranked.sort(key=lambda entry: entry.updated, reverse=True)

    def most_used(entry: Entry) -> tuple[bool, int, float]:
        use = uses(entry)
        return entry.pinned, use.count, use.last

    ranked.sort(key=most_used, reverse=True)
    return ranked


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
