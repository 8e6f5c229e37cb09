"""The catalogue of a project's sessions: a cache in SQLite, brought up to date from the files at each use.

Of a file that grew only what was added is read. A file that shrank, was replaced or reads differently before
the place that was reached is read anew. Several processes may do so at once: each step is a transaction that
begins by looking where the last one ended.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from mewcode.infra.sqlite import discard_cache, is_damage, open_cache, open_in_memory
from mewcode.infra.terminal_text import safe_text
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.catalog_fold import IndexedMessage, SessionState, fold_line, records_in
from mewcode.sessions.find import scan_sessions
from mewcode.sessions.search_text import index_text

T = TypeVar("T")

_VERSION = 1
_SCHEMA = """\
CREATE TABLE sessions (
    num INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL,
    size INTEGER NOT NULL, mtime REAL NOT NULL, cursor INTEGER NOT NULL, before BLOB NOT NULL,
    state BLOB NOT NULL);
CREATE TABLE messages (
    row INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, key INTEGER, turn INTEGER NOT NULL,
    role TEXT NOT NULL, ts REAL NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL);
CREATE UNIQUE INDEX messages_key ON messages (session, key);
CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2')"""

_Row = tuple[int, int, int, float, int, bytes, bytes]
"""num, inode, size, mtime, cursor, before, state"""
_STEP_BYTES = 8 << 20
"""Bytes of a file that one transaction takes in: about a second, which others may have to wait."""
_BEFORE = 64
"""Bytes in front of the place reached that must still read the same."""
_FEW_ORPHANS = 20_000
_UNFINISHED = -1
"""The size that stands for a file of which there is more to read."""


class CatalogEntry(msgspec.Struct, frozen=True):
    """A session. ``title``: the user's, else the first prompt; ``named``: it is the user's. ``updated``: Unix
    time of its last record that has one (labels apart), else of the file. ``size``: of the conversation, in
    bytes. ``tokens``: of all requests. ``cost_usd``: None where a price is unknown. ``damaged``: broken
    lines."""

    id: str
    path: Path
    title: str
    named: bool
    first_prompt: str
    updated: float
    messages: int
    turns: int
    size: int
    model: str
    cwd: str
    branch: str
    parent_session: str
    tokens: int
    cost_usd: float | None
    tags: list[str]
    pinned: bool
    damaged: int


class Catalog:
    """An open catalogue. ``notice`` is a sentence for the user, "" for none. Not for several threads."""

    def __init__(self, sessions_dir: Path, cache: Path) -> None:
        """Raises nothing because of the cache: see `open_cache`."""
        self._dir = sessions_dir
        self._cache = cache
        self._found: dict[str, tuple[int, float]] = {}
        self.connection, self.notice = open_cache(cache, _VERSION, _SCHEMA)

    def close(self) -> None:
        self.connection.close()

    def run(self, work: Callable[[Catalog], T]) -> T:
        """What ``work`` makes of the catalogue brought up to date. Where the cache turns out to be damaged it
        is built anew, where it cannot be written it is built in memory; then ``work`` is done again."""
        try:
            self.refresh()
            return work(self)
        except sqlite3.Error as error:
            self.connection.close()
            self._replace(error)
        self.refresh()
        return work(self)

    def _replace(self, error: sqlite3.Error) -> None:
        """Opens another cache in place of one that failed."""
        if not is_damage(error):  # the disk is full, or another process does not let go
            self.connection, self.notice = open_in_memory(self._cache, _VERSION, _SCHEMA, error)
            return
        discard_cache(self._cache)
        self.connection, self.notice = open_cache(self._cache, _VERSION, _SCHEMA)
        self.notice = self.notice or f"the index was damaged and was built anew ({self._cache})"

    def refresh(self) -> None:
        """Takes in what changed since the last time. A session that cannot be read keeps what is known."""
        self._drop_orphans()
        known = {
            name: (size, mtime)
            for name, size, mtime in self.connection.execute("SELECT id, size, mtime FROM sessions")
        }
        found = {path.name: (size, mtime) for mtime, size, path in scan_sessions(self._dir)}
        self._found = found
        for name, there in found.items():
            if known.get(name) != there:
                while self._step(self.folder(name)):
                    pass
        for name in known.keys() - found.keys():
            with self._transaction():
                self._forget(name)

    def rebuild(self) -> None:
        """Forgets everything and reads all files from their beginnings."""
        with self._transaction():
            self._clear()
        self.refresh()

    def entries(self) -> list[CatalogEntry]:
        """All sessions as of the last `refresh`, the newest first. Of one that cannot be read only age and
        size are known."""
        decoder = msgspec.json.Decoder(SessionState)
        rows = self.connection.execute("SELECT id, size, mtime, state FROM sessions")
        found = [self._entry(name, size, mtime, decoder.decode(state)) for name, size, mtime, state in rows]
        unread = self._found.keys() - {entry.id for entry in found}
        found += [self._entry(name, *self._found[name], SessionState()) for name in unread]
        return sorted(found, key=lambda entry: (entry.updated, entry.id), reverse=True)

    def _entry(self, name: str, size: int, mtime: float, state: SessionState) -> CatalogEntry:
        return CatalogEntry(
            id=name,
            path=self._dir / name,
            title=state.title or state.first_prompt,
            named=bool(state.title),
            first_prompt=state.first_prompt,
            updated=state.last_ts or mtime,
            messages=state.messages,
            turns=state.turns,
            size=size,
            model=state.model,
            cwd=state.cwd,
            branch=state.branch,
            parent_session=state.parent_session,
            tokens=state.tokens,
            cost_usd=state.cost_usd,
            tags=state.tags,
            pinned=state.pinned,
            damaged=state.broken,
        )

    def folder(self, name: str) -> Path:
        """The folder of a session that the catalogue names."""
        return self._dir / name

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:  # a full disk has ended it already
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _step(self, folder: Path) -> bool:
        """Takes in a piece of a session's file; whether there is more."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            with open(os.open(folder / CONVERSATION, flags), "rb") as stream, self._transaction():
                status = os.fstat(stream.fileno())
                return stat.S_ISREG(status.st_mode) and self._take_in(folder.name, stream, status)
        except OSError:  # deleted or locked away meanwhile
            return False

    def _take_in(self, name: str, stream: BinaryIO, status: os.stat_result) -> bool:
        row = self._row(name)
        if row is not None and row[2:4] == (status.st_size, status.st_mtime):
            return False  # another process was quicker
        if row is None or row[1] != status.st_ino or not _goes_on(stream, row[4], row[5]):
            if row is not None:
                self._forget(name)
            self.connection.execute(
                "INSERT INTO sessions (id, inode, size, mtime, cursor, before, state)"
                " VALUES (?, ?, ?, 0, 0, x'', ?)",
                (name, status.st_ino, _UNFINISHED, b"{}"),
            )
            row = self._row(name)
            assert row is not None
        num, cursor = row[0], row[4]
        state = msgspec.json.decode(row[6], type=SessionState)
        stream.seek(cursor)
        end, is_finished = self._read_lines(num, state, stream, cursor)
        stream.seek(max(0, end - _BEFORE))
        before = stream.read(min(end, _BEFORE))
        size = status.st_size if is_finished else _UNFINISHED
        self.connection.execute(
            "UPDATE sessions SET size = ?, mtime = ?, cursor = ?, before = ?, state = ? WHERE num = ?",
            (size, status.st_mtime, end, before, msgspec.json.encode(state), num),
        )
        return not is_finished

    def _row(self, name: str) -> _Row | None:
        found: _Row | None = self.connection.execute(
            "SELECT num, inode, size, mtime, cursor, before, state FROM sessions WHERE id = ?", (name,)
        ).fetchone()
        return found

    def _read_lines(self, num: int, state: SessionState, stream: BinaryIO, cursor: int) -> tuple[int, bool]:
        """Takes in lines from the cursor on; where it ended, and whether that is the end of the file."""

        def is_new(key: int) -> bool:
            found = self.connection.execute(
                "SELECT 1 FROM messages WHERE session = ? AND key = ?", (num, key)
            )
            return not key or found.fetchone() is None

        start = cursor
        while line := stream.readline():
            if not line.endswith(b"\n") and records_in(line, is_first=state.lines == 0)[1]:
                return cursor, True  # half a line: the rest may come
            for message in fold_line(state, line, is_new):
                self._insert(num, message, cursor, len(line))
            cursor += len(line)
            if cursor - start >= _STEP_BYTES:
                return cursor, False
        return cursor, True

    def _insert(self, num: int, message: IndexedMessage, start: int, length: int) -> None:
        row = self.connection.execute(
            "INSERT INTO messages (session, key, turn, role, ts, start, length) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (num, message.key or None, message.turn, message.role, message.ts, start, length),
        ).lastrowid
        self.connection.execute(
            "INSERT INTO words (rowid, body) VALUES (?, ?)", (row, index_text(safe_text(message.text)))
        )

    def _forget(self, name: str) -> None:
        """Removes a session. Its words stay, under numbers that are never used again, until they are many:
        an index without the texts cannot take out single rows."""
        gone = self.connection.execute("SELECT num FROM sessions WHERE id = ?", (name,)).fetchone()
        if gone is None:
            return
        count = self.connection.execute("DELETE FROM messages WHERE session = ?", gone).rowcount
        self.connection.execute("DELETE FROM sessions WHERE num = ?", gone)
        self.connection.execute(
            "INSERT INTO counts VALUES ('orphans', ?) ON CONFLICT (name) DO UPDATE SET value = value + ?",
            (count, count),
        )

    def _drop_orphans(self) -> None:
        row = self.connection.execute("SELECT value FROM counts WHERE name = 'orphans'").fetchone()
        if row is not None and row[0] > _FEW_ORPHANS:
            (rows,) = self.connection.execute("SELECT max(row) FROM messages").fetchone()
            if row[0] > (rows or 0) / 2:
                with self._transaction():
                    self._clear()

    def _clear(self) -> None:
        self.connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self.connection.execute("DELETE FROM messages")
        self.connection.execute("DELETE FROM sessions")
        self.connection.execute("DELETE FROM counts")
        self.connection.execute("DELETE FROM sqlite_sequence")


def _goes_on(stream: BinaryIO, cursor: int, before: bytes) -> bool:
    """Whether the file still reads as it did up to the cursor, and goes on with a new line."""
    stream.seek(max(0, cursor - len(before)))
    if stream.read(len(before)) != before:
        return False
    # A last line without its end was complete by itself; with more right behind it, it is another line.
    return not before or before.endswith(b"\n") or stream.read(1) in (b"", b"\n")
