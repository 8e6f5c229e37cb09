"""What all words share: the notes, the flags, and how an answer is printed."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_text
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
        if self.options.as_json:
            data = msgspec.json.format(msgspec.json.encode(answer.value, enc_hook=str), indent=2)
            sys.stdout.write(data.decode() + "\n")
        else:
            sys.stdout.write("".join(f"{safe_text(line)}\n" for line in answer.lines))
        hint = () if self.options.as_json or not answer.hint else (answer.hint,)
        for words in (*answer.beside, *hint):
            sys.stderr.write(f"mewcode: {safe_text(words)}\n")
        return 0 if answer.is_done else 1
