"""What all words share: the store, how a note is named, and how they answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mewcode.core.errors import NoteError
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.memory.changes import UNDONE, Outcome, Ref
from mewcode.memory.entry import Entry, Use
from mewcode.memory.find import matching
from mewcode.memory.index import in_order
from mewcode.memory.note import LEVELS, Level, Type, type_of
from mewcode.note_source import open_notes
from mewcode.options import MemoryFlags, Options


class Context:
    """``now``: Unix time, the same for all that one command does. Made by reading nothing."""

    def __init__(self, options: Options, environ: Mapping[str, str], places: Places) -> None:
        self.options = options
        self.environ = environ
        self.store = open_notes(places, environ)
        self.now = time.time()
        self._uses: dict[tuple[Level, str], Use] | None = None

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

    def settle(self) -> None:
        """Takes note of what was done by hand. Where that cannot be written, the answer is right all the
        same."""
        try:
            self.store.settle()
        except NoteError as error:
            tell(error.message)

    def entries(self) -> list[Entry]:
        """The notes of the type and level that were named, in the order of an index, the project's first."""
        chosen = [
            entry
            for entry in self.store.entries()
            if self.type in (None, entry.type) and self.level in (None, entry.level)
        ]
        ordered = in_order(chosen)
        return [entry for level in LEVELS for entry in ordered if entry.level == level]

    def find(self, wanted: str, *, live_first: bool = True) -> Entry:
        """The note that was named. Raises NoteError where it is none, or one of several."""
        found = matching(wanted, self.entries(), self.now, live_first=live_first)
        if len(found) == 1:
            return found[0]
        if not found:
            raise NoteError(
                f"there is no note {safe_line(wanted)}", "See them all: mewcode memory list --all"
            )
        files = ", ".join(f"{entry.level}/{entry.file}" for entry in found[:5])
        raise NoteError(
            f"{len(found)} notes could be {safe_line(wanted)}: {files}", "Name a file, or --level and --type."
        )

    def answer(self, value: Any, lines: Sequence[str]) -> None:
        """Prints the value for scripts, or the lines for a person."""
        if self.options.as_json:
            text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode() + "\n"
            sys.stdout.write(text)
        else:
            sys.stdout.write("".join(f"{safe_text(line)}\n" for line in lines))

    def fields(self, entry: Entry) -> dict[str, Any]:
        """A note as scripts get it."""
        if self._uses is None:
            self._uses = self.store.uses()
        use = self._uses.get((entry.level, entry.file), Use())
        return {
            "type": entry.type,
            "name": entry.name,
            "description": entry.description or entry.line,
            "level": entry.level,
            "path": self.store.path(entry),
            "file": entry.file,
            "state": entry.state(self.now),
            "tags": entry.tags,
            "aliases": entry.aliases,
            "created": entry.created,
            "updated": entry.updated,
            "valid_from": entry.valid_from,
            "valid_to": entry.valid_to,
            "supersedes": entry.supersedes,
            "superseded_by": entry.superseded_by,
            "conflicts_with": entry.conflicts_with,
            "confidence": entry.confidence,
            "origin": entry.origin,
            "source": entry.source,
            "pinned": entry.pinned,
            "uses": use.count,
            "last_used": use.last or None,
            "problem": entry.problem,
        }


def ref(entry: Entry) -> Ref:
    """The note as it was when the entry was read."""
    return Ref(entry.level, entry.file)


def tell(words: str) -> None:
    """A word to the person that is no part of the answer."""
    sys.stderr.write(f"mewcode: {safe_text(words)}\n")


def check_done(outcome: Outcome) -> None:
    """Raises NoteError where nothing came of a request, unless there was nothing to do."""
    if outcome.kind in UNDONE and outcome.kind != "unchanged":
        raise NoteError(outcome.reason or f"nothing was changed ({outcome.kind})")


def note_line(entry: Entry, now: float) -> str:
    """A note on one line."""
    state = entry.state(now)
    marks = [entry.level, *([state] if state != "live" else []), *(["pinned"] if entry.pinned else [])]
    said = f" — {safe_line(entry.line)}" if entry.line else ""
    return f"[{entry.type}] {safe_line(entry.name, 120)}{said}  ({', '.join(marks)})"
