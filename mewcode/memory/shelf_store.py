"""The notes of one level: looked at without a lock, changed by one writer at a time.

A look compares each file with what was known of it and reads those that differ; it writes nothing. A writer
holds the lock, carries out what a killed one left, takes note of what was done by hand, and only then changes
anything (`Held`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mewcode.core.errors import NoteError
from mewcode.memory.entry import CACHE, Cache, Entry, load_cache
from mewcode.memory.files import NoteCalls, NoteFile, is_note_file, read_file, scan
from mewcode.memory.ledger import standing_of
from mewcode.memory.lock import WAIT, locked
from mewcode.memory.note import Level
from mewcode.memory.paths import Shelf
from mewcode.memory.usage import Usage, read_usage

if TYPE_CHECKING:  # to look needs none of it
    from mewcode.memory.history import Change
    from mewcode.memory.writing import Held


class Look(msgspec.Struct, frozen=True):
    """What is there. ``entries``: all notes that count, by file. ``fresh``: those that were read for this
    look; ``missing``: those that were known and are gone. ``withheld``: files that came with the folder,
    which the user does not trust. ``is_open``: whether anything may be read and written at all."""

    entries: dict[str, Entry]
    fresh: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    is_open: bool = True
    is_known: bool = False
    cache: Cache = Cache()
    usage: Usage = Usage()

    @property
    def is_settled(self) -> bool:
        """Whether the cache says all of it."""
        return self.is_known and not self.fresh and not self.missing


class ShelfStore:
    """One level. Cheap to make: nothing is read before it is asked for. Safe to use from several threads and
    processes. What the disk refuses is raised as NoteError."""

    def __init__(self, shelf: Shelf, *, calls: NoteCalls | None = None, wait: float = WAIT) -> None:
        self.shelf = shelf
        self.calls = calls or NoteCalls()
        self._wait = wait
        self._loaded: tuple[tuple[int, int, int], Cache] | None = None

    @property
    def level(self) -> Level:
        return self.shelf.level

    @property
    def folder(self) -> Path:
        return self.shelf.folder

    def look(self) -> Look:
        """What is there now. Reads the files that changed since the last writer, and writes nothing."""
        standing = standing_of(self.shelf)
        try:
            found = scan(self.folder)
            if not standing.is_open:
                return Look({}, withheld=tuple(filter(is_note_file, sorted(found))), is_open=False)
            cache = self._cache()
            withheld = standing.withheld(found)
            for file in withheld:
                del found[file]
            withheld = list(filter(is_note_file, withheld))
            entries = {} if cache is None else cache.still_there(found)
            changed = found.keys() - entries.keys()
            missing: tuple[str, ...] = ()
            known: dict[str, Entry] = {}
            if cache is not None and (changed or len(entries) < len(cache.entries)):
                known = {entry.file: entry for entry in cache.entries}
                missing = tuple(known.keys() - found.keys() - set(withheld))
            fresh = []
            for file in sorted(changed):
                if is_note_file(file) and (read := self._read(file, known.get(file))):
                    entries[file] = read.entry
                    fresh.append(file)
        except OSError as error:
            raise refused(self.folder, error) from error
        return Look(
            entries,
            tuple(fresh),
            missing,
            tuple(withheld),
            is_known=cache is not None,
            cache=cache or Cache(),
            usage=read_usage(self.folder, cache),
        )

    def read(self, file: str) -> NoteFile | None:
        """The note in a file; None where it is gone, or does not count."""
        if not standing_of(self.shelf).counts(file):
            return None
        try:
            return read_file(self.folder, file, self.level)
        except OSError as error:
            raise refused(self.folder / file, error) from error

    def changes(self) -> list[Change]:
        """The history, the oldest first; none where the folder is not trusted."""
        from mewcode.memory.history import Log

        if not standing_of(self.shelf).is_open:
            return []
        try:
            return Log(self.folder, self.calls).changes()
        except OSError as error:
            raise refused(self.folder, error) from error

    @contextmanager
    def hold(self, *, now: float, anew: bool = False) -> Iterator[Held]:
        """Holds the level's lock, with all that was done by hand or left undone settled. ``anew`` forgets
        what was known and reads all files and the history. Raises NotesBusy, NoteError."""
        from mewcode.memory.writing import Held

        if not standing_of(self.shelf).is_open:
            raise NoteError(
                f"the notes in {self.folder} came with this folder, which you do not trust",
                "To use them: mewcode --trust",
            )
        try:
            self.shelf.prepare()
            with locked(self.folder, self._wait):
                held = Held(self.shelf, self.calls, now)
                held.begin(self.look, anew=anew)
                yield held
                held.end()
        except OSError as error:
            raise refused(self.folder, error) from error

    def _read(self, file: str, known: Entry | None) -> NoteFile | None:
        read = read_file(self.folder, file, self.level)
        if read and known and known.digest == read.entry.digest:
            return msgspec.structs.replace(
                read, entry=msgspec.structs.replace(read.entry, by_hand=known.by_hand)
            )
        return read

    def _cache(self) -> Cache | None:
        path = self.folder / CACHE
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            return None
        key = (status.st_ctime_ns, status.st_size, status.st_ino)
        if self._loaded is None or self._loaded[0] != key or time.time_ns() - key[0] < 2_000_000_000:
            cache = load_cache(path)
            if cache is None:
                return None
            self._loaded = (key, cache)
        return self._loaded[1]


def refused(path: Path, error: OSError) -> NoteError:
    """What the disk said, for a person."""
    return NoteError(f"notes cannot be read or written: {error.strerror or error} ({path})")
