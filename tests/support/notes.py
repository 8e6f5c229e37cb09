"""Notes for tests: levels in a temporary folder, a clock that stands still, a disk that refuses."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mewcode.infra.paths import private_dir
from mewcode.memory.changes import Create, Outcome, Ref
from mewcode.memory.entry import Entry
from mewcode.memory.files import NoteCalls
from mewcode.memory.note import Level, Note, Type
from mewcode.memory.paths import Shelf, Trust
from mewcode.memory.store import NoteStore

NOW = 1_780_000_000.0


_TICKS = itertools.count()


def ticking() -> Callable[[], float]:
    return lambda: NOW + next(_TICKS) / 1_000_000


def shelf(root: Path, level: Level = "project", trust: Trust | None = None) -> Shelf:
    folder = root / level / "memory"
    return Shelf(level, folder, lambda: private_dir(folder), trust)


def store(
    root: Path,
    *,
    calls: NoteCalls | None = None,
    clock: Callable[[], float] | None = None,
    trust: Trust | None = None,
    wait: float = 5.0,
) -> NoteStore:
    """Both levels, in the folder ``root``. Without a ``clock`` each look at it is a microsecond later."""
    shelves = [shelf(root, "project", trust), shelf(root, "user")]
    return NoteStore(shelves, calls=calls, clock=clock or ticking(), wait=wait)


def note(name: str, body: str = "", kind: Type = "project_knowledge", **more: Any) -> Note:
    more.setdefault("level", "project")
    return Note(name=name, type=kind, body=body or f"About {name}.", **more)


def add(notes: NoteStore, *made: Note, by: Any = "user") -> list[Outcome]:
    return list(notes.apply([Create(item) for item in made], by=by).outcomes)


def one(notes: NoteStore, name: str) -> Entry:
    """The note of that name."""
    [found] = [entry for entry in notes.entries() if entry.name == name]
    return found


def ref(entry: Entry) -> Ref:
    return Ref(entry.level, entry.file)


def index(root: Path, level: Level = "project") -> list[str]:
    """The lines of an index that name notes."""
    text = (root / level / "memory" / "MEMORY.md").read_text("utf-8")
    return [line for line in text.splitlines() if line.startswith("- [")]


class Refusing(NoteCalls):
    """A disk that refuses the call of that number and all behind it; with ``halves`` it first takes half."""

    def __init__(self, after: int, *, halves: bool = False) -> None:
        self.left = after
        self.halves = halves
        self.refused = 0

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0 and not self.halves:
            self.refused += 1
            raise OSError(errno.ENOSPC, "No space left on device")

    def open(self, path: Path, flags: int, mode: int) -> int:
        self._count()
        return super().open(path, flags, mode)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        self._count()
        if self.left < 0:
            if self.refused:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.refused += 1
            return super().write(descriptor, memoryview(data)[: max(1, len(data) // 2)])
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self._count()
        super().sync(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        self._count()
        super().rename(old, new)

    def remove(self, path: Path) -> None:
        self._count()
        super().remove(path)
