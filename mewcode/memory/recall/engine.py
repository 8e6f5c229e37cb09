"""The engine of recall: an index of notes, exchanges and documents that may be thrown away at any time.

Each scope has a file of its own (`index_path`), so that nothing of one workspace or user is ever found from
another. Several threads and processes use one file at once; who asks never waits for who writes. Where the
index cannot be read or written nothing is found or learnt, and the log says why: no error leaves it.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec

from mewcode.core.codec import clean_text
from mewcode.core.errors import MewCodeError
from mewcode.infra.sqlite import BUSY_SECONDS, discard_cache, is_damage, open_cache
from mewcode.memory.entry import Entry
from mewcode.memory.recall import tables
from mewcode.memory.recall.question import Term, read_question
from mewcode.memory.recall.ranking import best_of, rank
from mewcode.memory.recall.semantic import LoadEmbedder
from mewcode.memory.recall.semantic_worker import SemanticWorker
from mewcode.memory.recall.tables import Row
from mewcode.memory.recall.values import COLLECTIONS, Collection, Damaged, Hit, NoteText, Passage, Reading

T = TypeVar("T")

_LOG = logging.getLogger("mewcode.recall")
_STEP = 500
"""Rows that one transaction takes in: some tenths of a second, which other writers may have to wait."""
_STEP_SECONDS = 0.2
"""After so long what was read is taken in: a program that ends soon leaves something to the next."""
_READER_WAIT = 0.1
"""Seconds. Readers hardly ever need to wait for anybody."""
_FAILURES = (sqlite3.Error, MewCodeError, OSError, Damaged)

Stop = Callable[[], bool]
Ranking = Callable[[sqlite3.Connection, Iterable[Collection], Sequence[Term], int], list[Hit]]


def index_path(caches: Path, *folders: Path) -> Path:
    """Where the index of what is in these folders is kept, by their paths, in the folder of caches."""
    import hashlib

    key = hashlib.blake2b(digest_size=12)
    for folder in folders:
        key.update(os.fsencode(folder.resolve()) + b"\0")
    return caches / "recall" / f"{key.hexdigest()}.sqlite"


class Engine:
    """Nothing is opened before it is used."""

    def __init__(self, path: Path, load_embedder: LoadEmbedder | None = None) -> None:
        """``load_embedder``: what makes vectors of texts, in a thread that starts with the first change
        of the index or the second update. Without it, and until it is loaded, words alone are compared."""
        self.path = path
        self._reader = _Side(_READER_WAIT)
        self._writer = _Side(BUSY_SECONDS)
        self._beside = _Side(BUSY_SECONDS)
        self._semantic = (
            None if load_embedder is None else SemanticWorker(load_embedder, self._read_beside, self._write)
        )

    @property
    def _sides(self) -> tuple[_Side, ...]:
        return self._reader, self._writer, self._beside

    @property
    def problem(self) -> str:
        """Why nothing is found, or nothing new learnt; "" where all is well."""
        return self._reader.problem or self._writer.problem

    def close(self) -> None:
        """Nothing is found or learnt from here on."""
        if self._semantic is not None:
            self._semantic.close()
        for side in self._sides:
            with side.lock:
                side.close()
                side.is_closed = True

    def wait_for_vectors(self, seconds: float) -> bool:
        """Waits until all that is known has its vector or will not get one; whether that came in time."""
        return self._semantic is None or self._semantic.wait(seconds)

    def search(
        self,
        question: str,
        collections: Sequence[Collection] = COLLECTIONS,
        limit: int = 25,
        until: float = math.inf,
    ) -> list[Hit]:
        """What answers the question best, over all these collections, at most ``limit``. ``until``
        (`time.monotonic`): a question that has no vector by then is answered by words alone. Empty where the
        question says nothing. Never raises."""
        terms = read_question(question)
        if not terms:
            return []
        ranking = self._ranking(question, until)

        found = self._run(self._reader, lambda connection: ranking(connection, collections, terms, limit))
        return best_of(found or [], limit)

    def _ranking(self, question: str, until: float) -> Ranking:
        """By words and by meaning, where that is ready; else by words."""
        if self._semantic is None:
            return rank
        asked = self._semantic.asked(question)
        if asked is None:
            return rank
        from mewcode.memory.recall.fusion import rank_by_both

        return partial(rank_by_both, asked, until)

    def update_notes(
        self, entries: Iterable[Entry], body: Callable[[Entry], str | None], stop: Stop | None = None
    ) -> bool:
        """Makes these the notes that are found, and no others. Of those that are new or changed the ``body``
        is asked for; None is for one that cannot be read, which is found as it was. See `update`."""
        by_id = {f"{entry.level}/{entry.file}": entry for entry in entries}

        def read(note: str) -> list[Row] | None:
            entry = by_id[note]
            text = body(entry)
            if text is None:
                return None
            said = (*entry.aliases, *entry.tags)
            return [note_row(NoteText(note, entry.name, said, entry.description, text))]

        return self.update("notes", {note: entry.digest for note, entry in by_id.items()}, read, stop)

    def update_documents(
        self,
        signs: Mapping[str, str],
        read: Callable[[str], Iterable[Passage] | None],
        stop: Stop | None = None,
    ) -> bool:
        """Makes these the documents that are found, and no others: by name, each with a sign that changes
        when it does. See `update`."""

        def rows(name: str) -> list[Row] | None:
            passages = read(name)
            return None if passages is None else [_passage_row(passage) for passage in passages]

        return self.update("documents", signs, rows, stop)

    def update(
        self,
        collection: Collection,
        signs: Mapping[str, str],
        read: Callable[[str], Iterable[Row] | None],
        stop: Stop | None = None,
    ) -> bool:
        """Makes these the sources of a collection, and no others. A source whose sign is not the known one is
        read; None leaves it as it was. Ends early once ``stop()`` is true. Whether all is known now; raises
        only what ``read`` raises."""
        known = self._signs(collection)
        if known is None:
            return False
        wanted = {name: sign for name, sign in signs.items() if clean_text(name) == name}  # all SQLite takes
        gone = [name for name in known if name not in wanted]
        new = [name for name, sign in wanted.items() if known.get(name) != sign]
        step: dict[str, list[Row] | None] = dict.fromkeys(gone)
        size, stopped, until = len(step), False, time.monotonic() + _STEP_SECONDS
        for name in new:
            stopped = stop is not None and stop()
            if stopped:
                break
            found = read(name)
            if found is None:
                continue
            rows = list(found)
            step[name] = rows
            size += 1 + len(rows)
            if size >= _STEP or time.monotonic() > until:
                if not self._put(collection, step, wanted):
                    return False
                step, size, until = {}, 0, time.monotonic() + _STEP_SECONDS
        return (not step or self._put(collection, step, wanted)) and not stopped

    def _put(
        self, collection: Collection, step: Mapping[str, list[Row] | None], signs: Mapping[str, str]
    ) -> bool:
        """Gives these sources their rows, or forgets them, as one change; whether that was done."""

        def work(connection: sqlite3.Connection) -> bool:
            here = tables.signs(connection, collection)
            for name, rows in step.items():
                if rows is not None:
                    tables.put(
                        connection, collection, name, signs[name], rows, with_meaning=self.is_by_meaning
                    )
                elif name in here:  # no other process was quicker
                    tables.remove(connection, collection, name)
            return True

        return self._learn(work) is not None

    def update_exchanges(
        self,
        signs: Mapping[str, str],
        read: Callable[[str, bytes], Reading | None],
        stop: Stop | None = None,
    ) -> bool:
        """Makes these the sessions whose turns are found, and no others: by id, each with a sign that changes
        when its file does. ``read`` goes on from the state of the last reading, empty at first; None is for
        one that cannot be read, which is found as it was. See `update`."""
        known = self._signs("exchanges")
        if known is None:
            return False
        wanted = {name: sign for name, sign in signs.items() if clean_text(name) == name}
        gone = {name: sign for name, sign in known.items() if name in wanted}
        if len(gone) < len(known) and not self.update("exchanges", gone, lambda _: None, stop):
            return False
        for name, sign in wanted.items():
            if known.get(name) != sign and not self._take_in(name, sign, read, stop):
                return False
        return True

    def _take_in(
        self, name: str, sign: str, read: Callable[[str, bytes], Reading | None], stop: Stop | None
    ) -> bool:
        """Reads a session to its end, a piece at a time."""
        while stop is None or not stop():
            known = self._run(
                self._reader,
                lambda connection: tables.state(
                    connection, "exchanges", name, with_meaning=self.is_by_meaning
                ),
            )
            if known is None:
                return False
            reading = read(name, known)
            if reading is None:
                return True
            done = self._learn(_piece(name, sign, known, reading, self.is_by_meaning))
            if done is None:
                return False
            if done and reading.is_all:
                return True
        return False

    @property
    def is_by_meaning(self) -> bool:
        """Whether meaning is compared as well, or will be once all is loaded."""
        return self._semantic is not None and self._semantic.is_on

    def _signs(self, collection: Collection) -> dict[str, str] | None:
        """What is known of the sources; the thread of vectors looks for what has become of them."""
        if self._semantic is not None:
            self._semantic.wake()
        return self._run(
            self._reader,
            lambda connection: tables.signs(connection, collection, with_meaning=self.is_by_meaning),
        )

    def _learn(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        done = self._write(work)
        if self._semantic is not None:
            self._semantic.wake()
        return done

    def _read_beside(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        return self._run(self._beside, work)

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        return self._run(self._writer, work, "BEGIN IMMEDIATE")

    def _run(self, side: _Side, work: Callable[[sqlite3.Connection], T], begin: str = "BEGIN") -> T | None:
        """What ``work`` says, as one transaction; None where the index cannot be used. A damaged one is made
        anew, once."""
        if side.is_closed:
            return None
        try:
            return side.run(self.path, work, begin)
        except _FAILURES as error:
            self._failed(side, error)
            is_damaged = is_damage(error) if isinstance(error, sqlite3.Error) else isinstance(error, Damaged)
            if not is_damaged:
                return None
        try:
            self._discard()
            return side.run(self.path, work, begin)
        except _FAILURES as error:
            self._failed(side, error)
            return None

    def _failed(self, side: _Side, error: Exception) -> None:
        reason = f"{error} ({self.path})"
        if reason != side.problem:
            _LOG.warning("recall: %s", reason)
        side.problem = reason

    def _discard(self) -> None:
        """Throws the index away. Raises OSError."""
        with self._reader.lock, self._writer.lock, self._beside.lock:
            for side in self._sides:
                side.close()
            discard_cache(self.path)


class _Side:
    """A connection of one purpose, used by one thread at a time."""

    def __init__(self, wait: float) -> None:
        """``wait``: seconds for another process to let go."""
        self.lock = Lock()
        self.problem = ""
        self._wait = wait
        self.is_closed = False
        self._connection: sqlite3.Connection | None = None

    def run(self, path: Path, work: Callable[[sqlite3.Connection], T], begin: str) -> T:
        """What ``work`` says, as one transaction. Raises sqlite3.Error, MewCodeError, Damaged."""
        with self.lock:
            connection = self.connection(path)
            connection.execute(begin)
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has ended it already
                    connection.execute("ROLLBACK")
                raise
            self.problem = ""
            return result

    def connection(self, path: Path) -> sqlite3.Connection:
        """For who holds the lock. Raises sqlite3.Error, MewCodeError."""
        if self.is_closed:
            raise MewCodeError("the index is closed")
        if self._connection is None:
            connection, notice = open_cache(path, tables.VERSION, tables.schema(), any_thread=True)
            if not connection.execute("PRAGMA database_list").fetchone()[2]:
                connection.close()  # what is in memory one side alone would know
                raise MewCodeError(notice)
            connection.execute(f"PRAGMA busy_timeout={round(1000 * self._wait)}")
            if notice:
                _LOG.warning("recall: %s", notice)
            self._connection = connection
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def note_row(note: NoteText) -> Row:
    """A note as a row of the index."""
    return Row(note.id, (note.name, "\n".join(note.aliases), note.description, note.body))


def _passage_row(passage: Passage) -> Row:
    shown = msgspec.json.encode(passage)
    title = f"{passage.title} {passage.path}"
    return Row(passage.id, (title, passage.heading, passage.text), passage.line, shown=shown)


def _piece(
    name: str, sign: str, known: bytes, reading: Reading, with_meaning: bool
) -> Callable[[sqlite3.Connection], bool]:
    """Takes in a piece of a session; not where another process was quicker."""
    rows = [
        Row(f"{name}/{turn.number}", (turn.text,), turn.number, turn.start, turn.when)
        for turn in reading.turns
    ]
    reached = sign if reading.is_all else ""

    def work(connection: sqlite3.Connection) -> bool:
        if tables.state(connection, "exchanges", name, with_meaning=with_meaning) != known:
            return False
        tables.put(
            connection,
            "exchanges",
            name,
            reached,
            rows,
            kept=reading.kept,
            state=reading.state,
            with_meaning=with_meaning,
        )
        return True

    return work
