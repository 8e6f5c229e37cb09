"""A copy of a level's notes in force, as they stand at one moment: what a tidy works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mewcode.infra.redact import redact
from mewcode.memory.dates import time_of
from mewcode.memory.entry import Entry, Use
from mewcode.memory.liveness import Dead, Liveness
from mewcode.memory.note import Level, Note, parse_note
from mewcode.memory.paths import INBOX
from mewcode.memory.rules import origin_of
from mewcode.memory.store import NoteStore

LONG = 1_200
"""Bytes of a text that may be worth shortening."""
FEW_ALIASES = 5
"""A note of fewer is to get more."""

Check = Callable[[Sequence[Note]], Sequence[Liveness]]


class Item(msgspec.Struct, frozen=True):
    """``digest``: of the file that it was read from. ``dead``: what it names that
    is not there. ``is_refused``: the user did not want what was proposed in its place."""

    entry: Entry
    note: Note
    digest: str
    use: Use = Use()
    dead: tuple[Dead, ...] = ()
    is_refused: bool = False

    @property
    def file(self) -> str:
        return self.entry.file

    @property
    def size(self) -> int:
        """Bytes of its text."""
        return len(self.note.body.encode("utf-8", "replace"))

    @property
    def is_users(self) -> bool:
        """Whether its words are the user's own."""
        return origin_of(self.entry) == "user"

    def changed_since(self, moment: float) -> bool:
        return max(time_of(self.note.updated) or 0.0, time_of(self.note.created) or 0.0) > moment


class Copy(msgspec.Struct, frozen=True):
    """``items``: the notes in force that can be read. ``unread``: those that cannot, and those that hold a
    secret, which would be lost: they stay as they are. ``since``: when uses were first counted, 0 for
    never."""

    level: Level
    items: tuple[Item, ...]
    unread: tuple[Entry, ...] = ()
    since: float = 0.0


def copy_of(store: NoteStore, level: Level, now: float, check: Check) -> Copy:
    """The level as it is, with what was done by hand known as such. ``check``: what of each note is gone; see
    `liveness.check_notes`. Reads each note. Raises NoteError."""
    store.settle()
    look = store.levels[level].look()
    refused = _refused(store, level)
    items: list[Item] = []
    unread: list[Entry] = []
    for file, entry in sorted(look.entries.items()):
        if entry.state(now) != "live":
            continue
        read = store.read(level, file)
        if (
            read is None
            or read.entry.digest != entry.digest
            or entry.problem
            or redact(read.text) != read.text
        ):
            unread.append(entry)
        else:
            items.append(Item(entry, read.note, entry.digest, look.usage.of(file), (), file in refused))
    living = check([item.note for item in items])
    items = [
        msgspec.structs.replace(item, dead=found.dead) for item, found in zip(items, living, strict=True)
    ]
    return Copy(level, tuple(items), tuple(unread), look.usage.since)


def new_notes(items: Sequence[Entry], since: float, now: float) -> int:
    """How many of these notes are in force and were made since then."""
    return sum(entry.state(now) == "live" and (time_of(entry.created) or 0.0) > since for entry in items)


def _refused(store: NoteStore, level: Level) -> set[str]:
    """The notes for which the user deleted a proposal, or lets one wait."""
    files = {
        entry.conflicts_with for entry in store.entries(level) if entry.room == INBOX and entry.conflicts_with
    }
    for of_level, file, change in store.forgotten():
        if of_level == level and file.startswith(f"{INBOX}/"):
            for step in change.steps:
                if step.file == file and step.before:
                    files.add(parse_note(step.before, file=file, level=level)[0].conflicts_with)
    return files
