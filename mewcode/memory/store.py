"""The one store of notes: every writer goes through it, whatever it is and in whatever process it runs.

Reading takes no lock and writes nothing. A writer holds the levels it changes, and a change is in the history
before it is in the notes; see `shelf_store` and `writing`. Nothing is imported, read or locked before it is
asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.core.errors import NoteError
from mewcode.memory.dates import time_of
from mewcode.memory.entry import Entry, Use
from mewcode.memory.files import NoteCalls, NoteFile
from mewcode.memory.index import prompt_text
from mewcode.memory.lock import WAIT
from mewcode.memory.note import LEVELS, Level, Note
from mewcode.memory.paths import Shelf
from mewcode.memory.shelf_store import Look, ShelfStore, refused

if TYPE_CHECKING:  # to look needs none of it
    from mewcode.memory.changes import Applied, Outcome, Request
    from mewcode.memory.history import By, Change
    from mewcode.memory.writing import Held


class NoteStore:
    """The notes of all levels that count here. Safe to use from several threads and processes; to be called
    in a thread from asyncio where it writes. Raises NoteError where the disk refuses and NotesBusy where
    another process writes for longer than ``wait`` seconds. ``clock``: Unix time."""

    def __init__(
        self,
        shelves: Iterable[Shelf],
        *,
        calls: NoteCalls | None = None,
        clock: Callable[[], float] = time.time,
        wait: float = WAIT,
    ) -> None:
        stores = [ShelfStore(shelf, calls=calls, wait=wait) for shelf in shelves]
        self.levels: dict[Level, ShelfStore] = {
            level: store for level in LEVELS for store in stores if store.level == level
        }
        self._clock = clock

    def look(self) -> dict[Level, Look]:
        """What is there now, by level. What came with a folder that the user does not trust is left out, and
        named in `Look.withheld`."""
        return {level: store.look() for level, store in self.levels.items()}

    def entries(self, level: Level | None = None) -> list[Entry]:
        """All notes, also those not in force (see `Entry.state`), in no order of meaning."""
        looks = self.look() if level is None else {level: self._level(level).look()}
        return [entry for look in looks.values() for entry in look.entries.values()]

    def live(self) -> list[Entry]:
        """The notes in force."""
        now = self._clock()
        return [entry for entry in self.entries() if entry.state(now) == "live"]

    def read(self, level: Level, file: str) -> NoteFile | None:
        """A note with its whole text; None where it is gone or does not count."""
        return self._level(level).read(file)

    def path(self, entry: Entry) -> Path:
        """Where the note's file is."""
        return self._level(entry.level).folder / entry.file

    def prompt_text(self) -> str:
        """The index as a prompt has it (see `index.prompt_text`); "" where there are no notes. For the start
        path: one look at the folders, no lock, nothing written."""
        now = self._clock()
        looks = self.look()
        live = [entry for look in looks.values() for entry in look.entries.values()]
        live = [entry for entry in live if entry.state(now) == "live"]
        return prompt_text(live, lambda entry: looks[entry.level].usage.of(entry.file))

    def next_end(self) -> float:
        """When the first of the notes in force ends; infinity where none does."""
        now = self._clock()
        ends = (time_of(entry.valid_to, day_ends=True) for entry in self.live() if entry.valid_to)
        return min((end for end in ends if end is not None and end > now), default=float("inf"))

    def similar(self, note: Note) -> list[Entry]:
        """The notes in force that may be about the same as this one, itself left out, the nearest first."""
        from mewcode.memory.similar import similar_entries

        wanted = _identity(note)
        return similar_entries(note, [entry for entry in self.live() if entry.identity != wanted])

    def apply(self, requests: Sequence[Request], *, by: By, source: str = "", reason: str = "") -> Applied:
        """Carries out all of the requests as one change of the history, which `undo` takes back as one; what
        became of each. One that cannot be carried out is told in its outcome, and the others are carried out
        all the same. ``source``: the message or record that they rest on.

        In each level all of it comes, or nothing. Where a note moves to the other level it is written there
        first: a crash in between leaves it in both, never in none.
        """
        from mewcode.core.ids import new_id
        from mewcode.memory.changes import UNDONE, Applied
        from mewcode.memory.planning import Planner

        if not requests:
            return Applied("", ())
        with ExitStack() as stack:
            held = self._hold(stack, _levels_of(requests))
            planner = Planner(held, self._clock())
            try:
                outcomes = tuple(planner.plan(request) for request in requests)
                what = [(outcome, _words(outcome)) for outcome in outcomes if outcome.kind not in UNDONE]
                change_id, done = new_id(), False
                for level in _commit_order(held, requests):
                    words = tuple(said for outcome, said in what if _touches(outcome, level))
                    change = held[level].commit(change_id, by, words, source=source, reason=reason)
                    done = done or change is not None
            except OSError as error:
                raise refused(self._level(next(iter(held))).folder, error) from error
        return Applied(change_id if done else "", outcomes)

    def settle(self) -> list[Change]:
        """Takes note of what was done by hand, carries out what a killed process left undone, and brings
        index and cache up to date; the changes that were made by hand. For the background: takes the lock of
        each level where there is something to do, and of none else."""
        found = []
        for store in self.levels.values():
            look = store.look()
            if not look.is_open or look.is_settled or not (look.entries or look.missing):
                continue
            with store.hold(now=self._clock()) as held:
                if held.found is not None:
                    found.append(held.found)
        return found

    def rebuild(self) -> dict[Level, int]:
        """Makes index and cache anew from the files and the history; the number of notes in each level."""
        counts: dict[Level, int] = {}
        for level, store in self.levels.items():
            if not store.folder.is_dir():
                counts[level] = 0
                continue
            with store.hold(now=self._clock(), anew=True) as held:
                counts[level] = len(held.entries)
        return counts

    def undo(self, change_id: str = "", *, by: By = "user", force: bool = False) -> list[Change]:
        """Takes back a change: the one of that id, or the last that was made through the store and not taken
        back yet. What it took back, one change a level; it can be taken back itself.

        Raises NoteError where there is none, and where a note was changed since, unless ``force``: then what
        it became since is in the history.
        """
        from mewcode.memory.undo import find_change, take_back

        change = find_change(self.history(), change_id)
        with ExitStack() as stack:
            held = self._hold(stack, set(self.levels))
            return take_back(held, change, by=by, force=force)

    def history(self) -> list[tuple[Level, Change]]:
        """All changes of all levels, the oldest first."""
        found: list[tuple[Level, Change]] = []
        for level, store in self.levels.items():
            found += [(level, change) for change in store.changes()]
        return sorted(found, key=lambda item: item[1].ts)

    def forgotten(self) -> list[tuple[Level, str, Change]]:
        """The notes that were deleted and are not there, each with the change that did it, the last first."""
        found: dict[tuple[Level, str], Change] = {}
        for level, change in self.history():
            for step in change.steps:
                if step.after is None and step.before and not step.moved:
                    found[level, step.file] = change
                else:
                    found.pop((level, step.file), None)
        there = {(entry.level, entry.file) for entry in self.entries()}
        gone = [(*key, change) for key, change in found.items() if key not in there]
        return sorted(gone, key=lambda item: -item[2].ts)

    def used(self, entries: Iterable[Entry], how: str) -> None:
        """Counts a use of these notes (``how``: recall, read, cited). One small write a level, no lock."""
        from mewcode.memory.usage import add_uses

        by_level: dict[Level, list[str]] = {}
        for entry in entries:
            by_level.setdefault(entry.level, []).append(entry.file)
        for level, files in by_level.items():
            store = self._level(level)
            try:
                add_uses(store.folder, files, how, now=self._clock(), calls=store.calls)
            except OSError as error:
                raise refused(store.folder, error) from error

    def uses(self) -> dict[tuple[Level, str], Use]:
        """How often each note was used, by level and file; those that were not are left out."""
        return {
            (level, file): use for level, look in self.look().items() for file, use in look.usage.uses.items()
        }

    def _level(self, level: Level) -> ShelfStore:
        if level not in self.levels:
            raise NoteError(f"there are no notes of level {level} here")
        return self.levels[level]

    def _hold(self, stack: ExitStack, levels: set[Level]) -> dict[Level, Held]:
        """Always in the same order, so that two writers never wait for each other."""
        now = self._clock()
        wanted = [level for level in LEVELS if level in levels]
        return {level: stack.enter_context(self._level(level).hold(now=now)) for level in wanted}


def _levels_of(requests: Sequence[Request]) -> set[Level]:
    from mewcode.memory.changes import Create, Move

    levels: set[Level] = set()
    for request in requests:
        levels.add(request.note.level if isinstance(request, Create) else request.ref.level)
        if isinstance(request, Move):
            levels.add(request.to)
    return levels


def _commit_order(held: dict[Level, Held], requests: Sequence[Request]) -> list[Level]:
    """Where notes move to before where they come from."""
    from mewcode.memory.changes import Move

    left = {request.ref.level for request in requests if isinstance(request, Move)}
    return sorted(held, key=lambda level: (level in left, LEVELS.index(level)))


def _touches(outcome: Outcome, level: Level) -> bool:
    return outcome.level == level or outcome.kind == "moved"


def _words(outcome: Outcome) -> str:
    return f"{outcome.kind} {outcome.name}"


def _identity(note: Note) -> str:
    from mewcode.memory.names import identity

    return identity(note.level, note.type, note.name)
