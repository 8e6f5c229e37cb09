"""The notes as a prompt had them at an earlier time, as far as the history says."""

from __future__ import annotations

from mewcode.memory.entry import Entry, Use, entry_of
from mewcode.memory.index import prompt_text
from mewcode.memory.note import parse_note
from mewcode.memory.past import Past
from mewcode.memory.store import NoteStore

_NO_FILE = (0, 0, 0)


def prompt_text_at(store: NoteStore, when: float) -> str:
    """As `NoteStore.prompt_text`, of that moment (Unix time). What was done by hand counts from when it was
    noticed on. How often notes had been used by then is not known: where there was no room for all, others
    may have been left out. Reads the whole history."""
    live: list[Entry] = []
    for level, shelf in store.levels.items():
        past = Past([change for change in shelf.changes() if change.ts <= when], level)
        for file, step in past.last.items():
            if step.after is not None:
                note, _ = parse_note(step.after, file=file, level=level)
                entry = entry_of(note, file, _NO_FILE, "")
                if entry.state(when) == "live":
                    live.append(entry)
    return prompt_text(live, lambda entry: Use())
