"""What all answers share: the notes at one moment, how one of them is named, and how it is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from mewcode.core.errors import NoteError
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.changes import Ref
from mewcode.memory.entry import Entry, Use
from mewcode.memory.find import matching
from mewcode.memory.index import in_order
from mewcode.memory.note import LEVELS, Level, Type
from mewcode.memory.store import NoteStore

if TYPE_CHECKING:
    from mewcode.memory.liveness import Tree


class Answer(msgspec.Struct, frozen=True):
    """``value``: for scripts; ``lines``: the same for a person. ``beside``: what is said besides to both,
    ``hint`` to a person only. ``is_done``: False where nothing came of a part of what was asked."""

    value: Any
    lines: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    hint: str = ""
    is_done: bool = True


class NoteView:
    """``asked``: how the person says it, such as ``mewcode memory``, for what they are told to type. Only
    notes of the type ``kind`` and of ``level`` count, where these are given. ``now``: Unix time, the same for
    all that one command does; ``tree``: what a note that is shown is held against. Made by reading nothing;
    its methods read, and raise NoteError."""

    def __init__(
        self,
        store: NoteStore,
        asked: str,
        *,
        kind: Type | None = None,
        level: Level | None = None,
        now: float | None = None,
        tree: Tree | None = None,
    ) -> None:
        self.store = store
        self.asked = asked
        self.kind = kind
        self.level = level
        self.tree = tree
        self.now = time.time() if now is None else now
        self._uses: dict[tuple[Level, str], Use] | None = None

    def settle(self) -> tuple[str, ...]:
        """Takes note of what was done by hand. Where that cannot be written, what the notes say is right all
        the same, and it gives the reason."""
        try:
            self.store.settle()
        except NoteError as error:
            return (error.message,)
        return ()

    def withheld(self) -> tuple[str, ...]:
        """How many notes are left out because they came with the folder."""
        count = sum(len(look.withheld) for look in self.store.look().values())
        return (withheld_words(count),) if count else ()

    def entries(self) -> list[Entry]:
        """The notes that count, in the order of an index, the project's first."""
        chosen = [
            entry
            for entry in self.store.entries()
            if self.kind in (None, entry.type) and self.level in (None, entry.level)
        ]
        ordered = in_order(chosen)
        return [entry for level in LEVELS for entry in ordered if entry.level == level]

    def find(self, wanted: str, *, live_first: bool = True) -> Entry:
        """The note that was named. Raises NoteError where it is none, or one of several."""
        found = matching(wanted, self.entries(), self.now, live_first=live_first)
        if len(found) == 1:
            return found[0]
        if not found:
            raise NoteError(f"there is no note {safe_line(wanted)}", f"See them all: {self.asked} list --all")
        raise NoteError(several(wanted, found), "Name a file, or --level and --type.")

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

    def line(self, entry: Entry) -> str:
        """A note on one line."""
        state = entry.state(self.now)
        marks = [entry.level, *([state] if state != "live" else []), *(["pinned"] if entry.pinned else [])]
        said = f" — {safe_line(entry.line)}" if entry.line else ""
        return f"[{entry.type}] {safe_line(entry.name, 120)}{said}  ({', '.join(marks)})"


def ref(entry: Entry) -> Ref:
    """The note, whatever it holds by now."""
    return Ref(entry.level, entry.file)


def withheld_words(count: int) -> str:
    """That so many notes came with the folder, and how to use them."""
    what = "1 note" if count == 1 else f"{count:,} notes"
    return f"{what} came with this folder, which you do not trust; to use them: mewcode --trust"


def several(wanted: str, found: list[Entry]) -> str:
    """That a word may mean several notes, which are named."""
    files = ", ".join(f"{entry.level}/{entry.file}" for entry in found[:5])
    return f"{len(found)} notes could be {safe_line(wanted)}: {files}"
