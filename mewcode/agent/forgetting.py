"""What the model is told where the user wants something forgotten: which notes may be meant. They say "forget
that", and what "that" is stands in the conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mewcode.agent.notes_used import NOTED, UsedNote, notes_in_reminder, notes_in_turn
from mewcode.core.message import Message
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.extract.triggers import asks_to_forget
from mewcode.prompt.notes import fenced

_MOST = 5
_LAST_MESSAGES = 60
"""So many messages at the end are looked at for notes that were used; what was noted is looked for in all."""


def forgetting_reminder(said: str, reminders: Sequence[str], messages: Sequence[Message]) -> str:
    """ "" where the user has not ``said`` so, or no note was spoken of. ``reminders``: what the model is told
    along with these words. Reads the conversation alone: a note may be gone by now."""
    if not asks_to_forget(said):
        return ""
    found: dict[str, UsedNote] = {}
    for note in _likeliest_first(reminders, list(notes_in_turn(messages)), messages):
        found.setdefault(note.file, note)
    if not found:
        return ""
    lines = [_line(note) for note in list(found.values())[:_MOST]]
    words = Path(__file__).with_name("forgetting.md").read_text(encoding="utf-8").strip()
    return words.replace("{notes}", fenced("\n".join(lines)))


def _likeliest_first(
    reminders: Sequence[str], spoken: Sequence[UsedNote], messages: Sequence[Message]
) -> Iterator[UsedNote]:
    """What was noted last, then what was noted before, then what was read or recalled last; without what was
    forgotten since."""
    for text in reversed(reminders):
        yield from notes_in_reminder(text)
    gone: set[str] = set()
    noted: list[UsedNote] = []
    for note in reversed(spoken):
        if note.how == "forgotten":
            gone.add(note.file)
        elif note.how in NOTED and not {note.file, note.name} & gone:
            noted.append(note)
    yield from noted
    used = [note for note in notes_in_turn(messages[-_LAST_MESSAGES:]) if note.how not in NOTED]
    yield from (note for note in reversed(used) if not {note.file, note.name} & gone)


def _line(note: UsedNote) -> str:
    name = f" {safe_line(note.name, 120)}" if note.name else ""
    return f"- {note.file}{name} ({'noted' if note.how in NOTED else note.how} in this conversation)"
