"""A note that was deleted, as lists show it."""

from __future__ import annotations

from mewcode.memory.entry import Entry, entry_of
from mewcode.memory.history import Change
from mewcode.memory.note import Level, parse_note


def deleted_entry(level: Level, file: str, change: Change) -> Entry:
    """The entry of a note as the change that deleted it found it."""
    text = next((step.before or "" for step in change.steps if step.file == file), "")
    note, problem = parse_note(text, file=file, level=level)
    return entry_of(note, file, (0, 0, 0), "", problem=problem)
