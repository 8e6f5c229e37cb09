"""What all words share: the notes, the flags, and how an answer is printed."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from mewcode.infra.paths import Places
from mewcode.memory.answers.text import answer_text, beside_text
from mewcode.memory.answers.view import Answer, NoteView
from mewcode.memory.note import LEVELS, Level, Type, type_of
from mewcode.note_source import open_notes
from mewcode.options import MemoryFlags, Options


class Context:
    """Made by reading nothing."""

    def __init__(self, options: Options, environ: Mapping[str, str], places: Places) -> None:
        self.options = options
        self.environ = environ
        self.places = places
        self.store = open_notes(places, environ)
        self.view = NoteView(self.store, "mewcode memory", kind=self.type, level=self.level)

    @property
    def flags(self) -> MemoryFlags:
        return self.options.memory_flags

    @property
    def words(self) -> tuple[str, ...]:
        """What stands behind the verb."""
        return self.options.words[1:]

    @property
    def type(self) -> Type | None:
        """The type that was named."""
        return type_of(self.flags.type) if self.flags.type else None

    @property
    def level(self) -> Level | None:
        """The level that was named."""
        return next((level for level in LEVELS if level == self.flags.level), None)

    def print(self, answer: Answer) -> int:
        """Prints the value for scripts, or the lines for a person; the exit code."""
        as_json = self.options.as_json
        sys.stdout.write(answer_text(answer, as_json=as_json))
        sys.stderr.write(beside_text(answer, as_json=as_json))
        return 0 if answer.is_done else 1
