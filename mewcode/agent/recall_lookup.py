"""Finds the notes that a text is about, in threads: what it needs is loaded when it is first used, and what
a note is told by once there is one to tell.

Nothing here raises but `NoteError`.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mewcode.agent.recall_told import Patience
from mewcode.memory.recall.ranking import clears

if TYPE_CHECKING:
    from mewcode.agent.ports import RecallIndex
    from mewcode.agent.recall_step import StepQuestions
    from mewcode.agent.recalled_note import Key, Recalled
    from mewcode.core.message import Message
    from mewcode.infra.stoppable import Stop
    from mewcode.memory.entry import Entry
    from mewcode.memory.liveness import Liveness, Tree
    from mewcode.memory.note import Note
    from mewcode.memory.store import NoteStore

MOST_TOLD = 5
"""Notes that one look gives."""
_CANDIDATES = 20
_FEW = 1_000
"""Notes that are looked at anew for each question; of more, what was known last counts until the background
has looked again."""
_ALWAYS = 30
"""Notes that are new or changed which a look takes in though nobody waits for it any more."""
_MOST_CALLS = 250
"""Messages among which a result's call is looked for: one answer makes at most 200 calls."""
_TO_TELL = 0.02
"""Seconds that are left for what comes after the question's vector."""
_COMMON = frozenset({
    "__init__.py", "conftest.py", "index.html", "index.js", "index.ts", "main.go", "main.py", "main.rs",
    "makefile", "mod.rs", "package.json", "pyproject.toml", "readme.md", "setup.py",
})  # fmt: skip
"""Names that say nothing without the folder."""


class Known(msgspec.Struct, frozen=True):
    """What a conversation holds of notes. ``told``: see `recalled_note.told_in`; ``section``: the part of the
    prompt that holds notes; ``messages``: where they may have been read, found or told otherwise."""

    told: Mapping[Key, str]
    section: str
    messages: Sequence[Message]


class Lookup:
    """Of one session. ``clock``: Unix time. One look at a time looks at the work tree."""

    def __init__(self, index: RecallIndex, tree: Tree, clock: Callable[[], float] = time.time) -> None:
        self._index = index
        self._tree = tree
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._seen: tuple[Message | None, int, set[str]] = None, 0, set()
        self._one_at_a_time = threading.Lock()
        self.is_behind = True
        """Whether the index may not know all notes."""
        self.is_hasty = False
        """Whether the last look went by words alone, since meaning took too long."""

    def about(self, said: str, known: Known, patience: Patience, stop: Stop) -> list[Recalled]:
        """The notes that answer what was said, the best first, of those that the conversation does not hold.
        Once nobody waits any more, what can be left out is."""
        store = self._index.store()
        entries = self._current(store)
        if not entries:
            return []
        self._refresh(patience, stop)
        until = patience.until - _TO_TELL
        scores = self._scores([said], entries, until)
        self.is_hasty = time.monotonic() >= until and self._index.engine().is_by_meaning
        return self._told(store, scores, known, patience, stop)

    def in_step(self, asked: StepQuestions, known: Known, patience: Patience, stop: Stop) -> list[Recalled]:
        """The same for what a step of the turn brought up. A note is on a file where it names it."""
        store = self._index.store()
        entries = self._current(store)
        if not entries:
            return []
        self._refresh(patience, stop)
        self.is_hasty = False
        scores = self._scores(asked.texts, entries)
        for file in asked.files:
            engine = self._index.engine()
            for hit in engine.search(file, ("notes",), _CANDIDATES):
                entry = entries.get(hit.id)
                if entry is not None and hit.id not in scores and self._names(store, entry, file):
                    scores[hit.id] = hit.score
        return self._told(store, scores, known, patience, stop)

    def manifest(self, said: str, known: Known, stop: Stop) -> list[Entry]:
        """The notes that a model may choose from, the likeliest first; at most `MOST_LISTED`."""
        from mewcode.memory.recall.selection import MOST_LISTED

        store = self._index.store()
        entries = self._current(store)
        if not entries:
            return []
        self._index.refresh_notes(entries.values(), stop)
        hits = self._index.engine().search(said, ("notes",), MOST_LISTED)
        ranked = [entries[hit.id] for hit in hits if hit.id in entries]
        rest = sorted(entries.values(), key=lambda entry: entry.updated or entry.created, reverse=True)
        found = {entry.file: entry for entry in self._new((*ranked, *rest), known)}
        return list(found.values())[:MOST_LISTED]

    def chosen(self, entries: Iterable[Entry], known: Known, stop: Stop) -> list[Recalled]:
        """Notes that a model chose, as they are told."""
        store = self._index.store()
        found = (self._read(store, entry, None, known, Patience()) for entry in entries if not stop())
        return [note for note in found if note is not None]

    def refresh(self, stop: Stop) -> None:
        """Brings all that is known up to date. For the background."""
        self._entries = _by_id(self._index.store().live())
        self.is_behind = not self._index.refresh(stop)

    def count(self, entries: Sequence[Entry]) -> None:
        """Counts a use of these notes."""
        self._index.store().used(entries, "recall")

    def _current(self, store: NoteStore) -> dict[str, Entry]:
        if len(self._entries) <= _FEW:
            self._entries = _by_id(store.live())
        return self._entries

    def _refresh(self, patience: Patience, stop: Stop) -> None:
        """Has the index know the notes, as far as somebody waits for it: the rest is for the background."""
        if len(self._entries) > _FEW:
            return
        asked = itertools.count()  # once for each note that is new or changed

        def is_over() -> bool:
            return stop() or (next(asked) >= _ALWAYS and time.monotonic() > patience.until)

        self.is_behind = not self._index.refresh_notes(self._entries.values(), is_over)

    def _scores(
        self, texts: Iterable[str], entries: Mapping[str, Entry], until: float = math.inf
    ) -> dict[str, float]:
        """By id, of the notes that answer one of the texts well enough. ``until``: see `Engine.search`."""
        found: dict[str, float] = {}
        for text in texts:
            for hit in self._index.engine().search(text, ("notes",), _CANDIDATES, until):
                if clears(hit) and hit.id in entries:
                    found[hit.id] = max(found.get(hit.id, 0.0), hit.score)
        return found

    def _names(self, store: NoteStore, entry: Entry, file: str) -> bool:
        """Whether a note names a file: by its name, or where that is common by its folder too."""
        read = store.read(entry.level, entry.file)
        if read is None:
            return False
        note = read.note
        said = "\n".join((note.name, note.description, *note.aliases, note.body)).casefold()
        folder, _, name = file.casefold().rpartition("/")
        wanted = f"{folder.rpartition('/')[2]}/{name}" if name in _COMMON else name
        return wanted in said

    def _told(
        self, store: NoteStore, scores: Mapping[str, float], known: Known, patience: Patience, stop: Stop
    ) -> list[Recalled]:
        best = sorted(scores, key=lambda note: (-scores[note], note))
        found: list[Recalled] = []
        for entry in self._new([self._entries[note] for note in best if note in self._entries], known):
            if len(found) == MOST_TOLD or stop():
                break
            read = self._read(store, entry, scores[_id(entry)], known, patience)
            found += [read] if read is not None else []
        return found

    def _new(self, entries: Iterable[Entry], known: Known) -> list[Entry]:
        """Without what the conversation holds already, and what nobody has approved."""
        entries = list(entries)
        if not entries:
            return []
        seen = self._seen_in(known.messages)
        return [entry for entry in entries if _is_new(entry, known, seen)]

    def _seen_in(self, messages: Sequence[Message]) -> set[str]:
        """The files of notes that the conversation holds otherwise; of one that grew, only what is new is
        looked at, and what its calls may belong to."""
        from mewcode.agent.notes_used import notes_in_turn

        last, count, before = self._seen
        if last is None or len(messages) < count or messages[count - 1] is not last:
            count, before = 0, set()
        new = messages[max(0, count - _MOST_CALLS) :]
        seen = before | {note.file for note in notes_in_turn(new) if note.how in ("read", "saved", "told")}
        self._seen = (messages[-1] if messages else None), len(messages), seen
        return seen

    def _read(
        self, store: NoteStore, entry: Entry, score: float | None, known: Known, patience: Patience
    ) -> Recalled | None:
        """The note as it is told; None where it is gone or not in force any more."""
        from mewcode.agent.recalled_note import Recalled, recall_text

        read = store.read(entry.level, entry.file)
        if read is None:
            return None
        now, by_hand = self._clock(), entry.by_hand  # which the file alone does not say
        entry = msgspec.structs.replace(read.entry, by_hand=by_hand)
        if entry.state(now) != "live" or not _is_new(entry, known, ()):
            return None
        found = self._look_for(read.note, patience)
        return Recalled(
            entry, recall_text(entry, read.note.body, self._shown(store.path(entry)), found, now), score
        )

    def _look_for(self, note: Note, patience: Patience) -> Liveness | None:
        """What of what a note names is not there; None where that could not be said in time."""
        if time.monotonic() > patience.until:
            return None
        from mewcode.memory.liveness import check_note

        with self._one_at_a_time:
            tree = _InTime(self._tree, patience)
            found = check_note(note, tree)
        return None if tree.is_late else found

    def _shown(self, path: Path) -> str:
        root = self._tree.root
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


class _InTime:
    """A tree of which nothing is asked beyond a time. ``is_late``: something was not answered."""

    def __init__(self, tree: Tree, patience: Patience) -> None:
        self._tree = tree
        self._patience = patience
        self.is_late = False

    @property
    def root(self) -> Path:
        return self._tree.root

    @property
    def search_path(self) -> str:
        return self._tree.search_path

    def files(self, until: float) -> Collection[str] | None:
        found = self._tree.files(min(until, self._patience.until))
        self.is_late = self.is_late or found is None
        return found

    def words(self, wanted: frozenset[str], until: float) -> frozenset[str] | None:
        found = self._tree.words(wanted, min(until, self._patience.until))
        self.is_late = self.is_late or found is None
        return found


def _is_new(entry: Entry, known: Known, seen: Collection[str]) -> bool:
    from mewcode.agent.recalled_note import stands_in
    from mewcode.memory.rules import origin_of

    if origin_of(entry) in ("tool", "web") or entry.file in seen:
        return False
    if known.told.get((entry.level, entry.file)) == entry.digest:
        return False
    return not stands_in(known.section, entry)


def _by_id(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {_id(entry): entry for entry in entries}


def _id(entry: Entry) -> str:
    """As the index calls a note."""
    return f"{entry.level}/{entry.file}"
