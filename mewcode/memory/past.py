"""What a level's history says of its files as they should be now."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mewcode.memory import frontmatter
from mewcode.memory.entry import Gone
from mewcode.memory.files import text_digest
from mewcode.memory.history import Change, Step
from mewcode.memory.names import identity
from mewcode.memory.note import Level, Note, parse_note


class Deleted(msgspec.Struct, frozen=True):
    """What a note said that a person deleted, and the file it was."""

    file: str
    note: Note
    gone: Gone


class Past:
    """``last``: the last step of each file; ``by_hand``: the files whose wording a person wrote into them;
    ``gone``: the notes that a person deleted and nobody made again, by identity; ``deleted``: all that a
    person ever deleted."""

    def __init__(self, changes: Sequence[Change], level: Level) -> None:
        self.last: dict[str, Step] = {}
        self.by_hand: set[str] = set()
        self.gone: dict[str, Gone] = {}
        self.deleted: list[Deleted] = []
        self._level: Level = level
        for change in changes:
            # What a change moves is deleted here and made there: it is not gone.
            for step in change.steps:
                self._delete(change, step)
            for step in change.steps:
                self._write(step)

    def text_of(self, file: str) -> str | None:
        """The last text that is known of a file."""
        step = self.last.get(file)
        return None if step is None else step.after

    def is_known(self, file: str, digest: str) -> bool:
        """Whether the file's content is what the last change left."""
        text = self.text_of(file)
        return text is not None and text_digest(text) == digest

    def _delete(self, change: Change, step: Step) -> None:
        if step.after is not None:
            return
        self.last[step.file] = step
        if step.before is not None and not step.moved and change.by in ("user", "hand"):
            note, _ = parse_note(step.before, file=step.file, level=self._level)
            gone = Gone(change.ts, change.by)
            self.gone[identity(note.level, note.type, note.name)] = gone
            self.deleted.append(Deleted(step.file, note, gone))
        self.by_hand.discard(step.file)

    def _write(self, step: Step) -> None:
        if step.after is None:
            return
        self.last[step.file] = step
        if self.gone:
            self.gone.pop(identity_of(step.after, step.file, self._level), None)
        if step.by_hand:
            self.by_hand.add(step.file)
        else:
            self.by_hand.discard(step.file)


def identity_of(text: str, file: str, level: Level) -> str:
    """The identity of the note that a file with this text is."""
    note, _ = parse_note(text, file=file, level=level)
    return identity(note.level, note.type, note.name)


def body_of(text: str) -> str:
    """What stands behind the head."""
    return frontmatter.split(text).body.strip()
