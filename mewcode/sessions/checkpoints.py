"""What the files were before each turn changed them.

The files have one history, whatever way the conversation takes through its tree: the index holds it in order.
What a file was before a turn is its state before the first change since then, by that turn or a later one, by
a tool, a command or a rewind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from mewcode.sessions.append_file import FileCalls
from mewcode.sessions.checkpoint_log import CheckpointLog, Entry, FileState, path_fields, path_of
from mewcode.sessions.checkpoint_store import MOST_BYTES, CheckpointStore, observe

NOT_KEPT = "it could not be kept: "
"""What `FileState.why` begins with where the disk refused a content."""


class Change(msgspec.Struct, frozen=True):
    """A file that was changed since some point. ``before``: what it was then. ``after``: what the last change
    left. ``foreign``: between two changes someone else changed it too. ``earlier_run``: all that is known of
    it was written by an earlier run of the program."""

    path: str
    before: FileState
    after: FileState
    foreign: bool = False
    earlier_run: bool = False


class Checkpoints:
    """The checkpoints of one session, in ``<session folder>/checkpoints``; may be used from any thread.

    Nothing is on the disk before the first change, nothing is read before the first question, and no method
    raises because of the disk: what could not be kept is known as such, and named when it is to be restored.
    """

    def __init__(
        self,
        session_folder: Callable[[], Path],
        turn: Callable[[], str],
        *,
        now: Callable[[], float] = time.time,
        calls: FileCalls | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """``session_folder`` is asked when something is first read or written: its name is final with the
        session's first message. ``turn`` gives the id of the user's message whose turn runs."""
        self._session_folder = session_folder
        self._turn = turn
        self._now = now
        self._calls = calls or FileCalls()
        self._most_bytes = most_bytes
        self._lock = threading.RLock()
        self._parts: tuple[CheckpointLog, CheckpointStore] | None = None
        self._last: dict[str, FileState] = {}  # the last known state of each path
        self._seen: dict[str, int] = {}  # the `n` at which each turn first stands
        self._current: tuple[str, set[str]] = ("", set())  # a turn, and the paths that it has changed
        self._keeping: dict[str, tuple[tuple[int, ...], FileState]] = {}

    @property
    def log(self) -> CheckpointLog:
        return self._open()[0]

    @property
    def store(self) -> CheckpointStore:
        return self._open()[1]

    def _open(self) -> tuple[CheckpointLog, CheckpointStore]:
        with self._lock:
            if self._parts is None:
                folder = self._session_folder() / "checkpoints"
                self._parts = CheckpointLog(folder, self._calls), CheckpointStore(folder, self._calls)
                for entry in self._parts[0].entries:
                    self._note(entry)
            return self._parts

    # --- what changes -------------------------------------------------------------------------------------

    def before_write(self, path: Path | str) -> None:
        """To be called right before a tool of ours changes the file at ``path`` (absolute, resolved), in the
        thread that does. Takes the time of reading the file and of writing it once; not synced, for a power
        cut in these seconds is rarer than a write, and a content that was torn by one is known by its name.
        """
        with self._lock:
            self.log_before(str(path), self._turn())

    def after_write(self, path: Path | str) -> None:
        """To be called once the file was changed."""
        with self._lock:
            self._add("after", str(path), observe(str(path)))

    def log_before(self, path: str, turn: str, *, durable: bool = False) -> FileState | None:
        """Keeps what stands at ``path`` as its state before ``turn``, unless the turn has changed it before
        and nobody else did since (then None)."""
        with self._lock:
            store, last = self.store, self._last.get(path)
            if self._has_changed(turn, path) and last is not None and _looks_same(path, last):
                return None
            try:
                state = observe(path, store, durable=durable)
            except OSError as error:
                state = FileState("unknown", why=f"{NOT_KEPT}{error.strerror or error}")
            self._add("before", path, state, turn=turn)
            self._make_room(turn)
            return state

    def log_command(self, turn: str, path: str, before: FileState, after: FileState) -> None:
        """A command changed ``path``."""
        with self._lock:
            if not self._has_changed(turn, path) or not before.same(self._last.get(path, before)):
                self._add("before", path, before, turn=turn, by="command")
            self._add("after", path, after, by="command")

    def log_note(self, turn: str, text: str) -> None:
        """Something of a turn that the user should know when it is taken back."""
        with self._lock:
            self._add("note", turn=turn, text=text)

    def log_rewind(self, entry: Entry) -> int:
        """Adds the entry of a rewind; its ``n`` and ``ts`` are set. Returns the ``n``."""
        with self._lock:
            self._put(msgspec.structs.replace(entry, n=self.log.next_n, ts=self._now()))
            return self.log.entries[-1].n

    def keep(self, path: str, signature: tuple[int, ...]) -> FileState:
        """The state of a file that may be about to change, its content kept; not read again while the
        ``signature`` (of its `os.stat_result`) is the same."""
        with self._lock:
            known = self._keeping.get(path)
            if known is not None and known[0] == signature and known[1].blob in self.store.sizes:
                return known[1]
            try:
                state = observe(path, self.store)
            except OSError as error:
                state = FileState("unknown", why=f"{NOT_KEPT}{error.strerror or error}")
            self._keeping[path] = signature, state
            self._make_room(self._turn())
            return state

    @property
    def turn(self) -> str:
        """The turn that runs."""
        return self._turn()

    @property
    def paths(self) -> list[str]:
        """All files that are known to have been changed, the first changed first."""
        with self._lock:
            self._open()
            return list(self._last)

    # --- what was -----------------------------------------------------------------------------------------

    def positions(self, turns: Sequence[str]) -> list[int]:
        """For each of ``turns``, the messages of the user's on this branch in order, the ``n`` from which on
        all happened after it was said.

        A turn that changed nothing does not stand in the index. What stands behind it is found by the turns
        that follow, and by the rewinds that led back to somewhere behind it.
        """
        with self._lock:
            back: dict[str, int] = {}
            for entry in self.log.entries:
                if entry.type == "rewind" and entry.kept:
                    back[entry.kept] = min(entry.at, back.get(entry.kept, entry.at))
            found, nearest = list[int](), self.log.next_n
            for turn in reversed(turns):
                nearest = min(nearest, self._seen.get(turn, nearest), back.get(turn, nearest))
                found.append(nearest)
            return found[::-1]

    def counts_since(self, positions: Sequence[int]) -> list[tuple[int, bool]]:
        """For each of these ``n``, in ascending order: how many files were changed since, and whether what
        they were then is known of all."""
        with self._lock:
            entries, before = self.log.entries, dict[str, bool]()
            place, lost, counts = len(entries), 0, list[tuple[int, bool]]()
            for n in reversed(positions):
                while place and entries[place - 1].n >= n:
                    place -= 1
                    entry = entries[place]
                    if entry.type == "before" and entry.state is not None:
                        path, possible = path_of(entry), not self.can_restore(entry.state)
                        lost += (not possible) - (not before.get(path, True))
                        before[path] = possible
                counts.append((len(before), not lost))
            return counts[::-1]

    def changes_since(self, n: int) -> list[Change]:
        """The files changed since ``n``, in the order in which they were first changed."""
        with self._lock:
            by_path: dict[str, list[Entry]] = {}
            for entry in self.log.entries:
                if entry.n >= n and entry.type in ("before", "after"):
                    by_path.setdefault(path_of(entry), []).append(entry)
            read_upto = self.log.read_upto
            changes = (_change(path, entries, read_upto) for path, entries in by_path.items())
            return [change for change in changes if change is not None]

    def notes_since(self, n: int) -> list[str]:
        """The notes since ``n``, each once."""
        with self._lock:
            notes = (entry.text for entry in self.log.entries if entry.n >= n and entry.type == "note")
            return list(dict.fromkeys(notes))

    def last_rewind(self) -> Entry | None:
        with self._lock:
            return next((entry for entry in reversed(self.log.entries) if entry.type == "rewind"), None)

    def can_restore(self, state: FileState) -> str:
        """Empty where the content that ``state`` names is there (of a commit: should be), else why not."""
        with self._lock:
            if state.kind == "unknown":
                return state.why
            if state.kind == "file" and state.blob not in self.store.sizes:
                return "what it was is not kept any more, to save room"
            return ""

    # ------------------------------------------------------------------------------------------------------

    def _has_changed(self, turn: str, path: str) -> bool:
        self._open()
        return self._current[0] == turn and path in self._current[1]

    def _add(
        self,
        kind: Literal["before", "after", "note"],
        path: str = "",
        state: FileState | None = None,
        *,
        turn: str = "",
        by: str = "",
        text: str = "",
    ) -> None:
        plain, raw = path_fields(path)
        n, ts = self.log.next_n, self._now()
        self._put(Entry(n, kind, ts, turn, plain, raw, state=state, by=by, text=text))

    def _put(self, entry: Entry) -> None:
        self.log.add(entry)
        self._note(entry)

    def _note(self, entry: Entry) -> None:
        if entry.turn:
            self._seen.setdefault(entry.turn, entry.n)
            if self._current[0] != entry.turn:
                self._current = entry.turn, set()
        if entry.state is not None:
            path = path_of(entry)
            self._last[path] = entry.state
            self._current[1].add(path)

    def _make_room(self, turn: str) -> None:
        """Gives up the contents that only the oldest entries need, until a fifth of the room is free. Those
        of the turn that runs stay."""
        if self.store.total <= self._most_bytes:
            return
        store, newest = self.store, dict[str, int]()
        for entry in self.log.entries:
            if entry.state is not None and entry.state.blob in store.sizes:
                newest[entry.state.blob] = entry.n
        kept = self._seen.get(turn, self.log.next_n)
        unused = [name for name in store.sizes if name not in newest]
        aged = sorted((n, name) for name, n in newest.items() if n < kept)
        given_up = _up_to(
            store.total - self._most_bytes * 4 // 5, store.sizes, [*unused, *(b for _, b in aged)]
        )
        store.drop(given_up)


def _up_to(needed: int, sizes: Mapping[str, int], names: Iterable[str]) -> list[str]:
    chosen: list[str] = []
    for name in names:
        if needed <= 0:
            break
        chosen.append(name)
        needed -= sizes[name]
    return chosen


def _looks_same(path: str, last: FileState) -> bool:
    return observe(path).same(last)


def _change(path: str, entries: Sequence[Entry], read_upto: int) -> Change | None:
    """What a file's entries since some point come to; None where it was first changed before that."""
    first = next((entry.state for entry in entries if entry.type == "before"), None)
    if first is None:
        return None
    foreign, last = False, None
    for entry in entries:
        if entry.type == "before" and last is not None and entry.state is not None:
            foreign = foreign or not entry.state.same(last)
        last = entry.state
    assert last is not None
    return Change(path, first, last, foreign, entries[-1].n <= read_upto)
