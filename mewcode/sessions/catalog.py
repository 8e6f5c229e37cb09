"""The catalogue of a project's sessions: a cache in SQLite, brought up to date from the files at each use.

The newest sessions come first. Of a file that grew only what was added is read. A file that shrank, was
replaced or reads differently before the place that was reached is read anew. Several processes may do so at
once: each step is a transaction that begins by looking where the last one ended.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from mewcode.core.codec import clean_text
from mewcode.infra.sqlite import discard_cache, is_damage, open_cache, open_in_memory
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.sessions.catalog_entry import CatalogEntry, decode_entries, encode_entry, with_titles
from mewcode.sessions.catalog_fold import IndexedMessage, SessionState, fold_line, records_in
from mewcode.sessions.catalog_glance import glance, lines_in, open_conversation
from mewcode.sessions.catalog_list import VERSION
from mewcode.sessions.find import scan_sessions
from mewcode.sessions.search_text import index_text

__all__ = ["Catalog", "CatalogEntry"]

T = TypeVar("T")

_SCHEMA = """\
CREATE TABLE sessions (
    num INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL,
    size INTEGER NOT NULL, mtime REAL NOT NULL, cursor INTEGER NOT NULL, before BLOB NOT NULL,
    state BLOB NOT NULL, low INTEGER, high INTEGER);
CREATE TABLE listed (
    num INTEGER PRIMARY KEY, updated REAL NOT NULL, entry BLOB NOT NULL);
CREATE TABLE messages (
    row INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, key INTEGER, turn INTEGER NOT NULL,
    role TEXT NOT NULL, ts REAL NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL);
CREATE UNIQUE INDEX messages_key ON messages (session, key);
CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2')"""

_Row = tuple[int, int, int, float, int, bytes, bytes]
"""num, inode, size, mtime, cursor, before, state"""
_STEP_BYTES = 2 << 20
"""Bytes of a file that one transaction takes in: a fraction of a second, which others may have to wait."""
_GLANCES = 100
"""Sessions that are looked at before that is said."""
_BEFORE = 64
"""Bytes in front of the place reached that must still read the same."""
_FEW_ORPHANS = 20_000
_NAME_LIMIT = 100
_PATH_LIMIT = 1_000
_UNFINISHED = -1
"""The size that stands for a file of which there is more to read."""


class Catalog:
    """An open catalogue. ``notice`` is a sentence for the user, "" for none. Not for several threads."""

    def __init__(self, sessions_dir: Path, cache: Path, folder: str = "") -> None:
        """``folder``: the root of the workspace, as entries name it. Raises nothing because of the cache: see
        `open_cache`."""
        self._dir = sessions_dir
        self._root = folder
        self._cache = cache
        self._found: dict[str, tuple[int, float]] = {}
        self.connection, self.notice = open_cache(cache, VERSION, _SCHEMA)

    def close(self) -> None:
        self.connection.close()

    def run(
        self,
        work: Callable[[Catalog], T],
        stop: Callable[[], bool] | None = None,
        stepped: Callable[[], object] | None = None,
    ) -> T:
        """What ``work`` makes of the catalogue brought up to date (see `refresh`). Where the cache turns out
        to be damaged it is built anew, where it cannot be written it is built in memory; then ``work`` is
        done again."""

        def refreshed(catalog: Catalog) -> T:
            catalog.refresh(stop, stepped)
            return work(catalog)

        return self.attempt(refreshed)

    def attempt(self, work: Callable[[Catalog], T]) -> T:
        """As `run`, with what is known already."""
        try:
            return work(self)
        except sqlite3.Error as error:
            self.connection.close()
            self._replace(error)
        return work(self)

    def _replace(self, error: sqlite3.Error) -> None:
        """Opens another cache in place of one that failed."""
        if not is_damage(error):  # the disk is full, or another process does not let go
            self.connection, self.notice = open_in_memory(self._cache, VERSION, _SCHEMA, error)
            return
        discard_cache(self._cache)
        self.connection, self.notice = open_cache(self._cache, VERSION, _SCHEMA)
        self.notice = self.notice or f"the index was damaged and was built anew ({self._cache})"

    def refresh(
        self, stop: Callable[[], bool] | None = None, stepped: Callable[[], object] | None = None
    ) -> None:
        """Takes in what changed since the last time, the newest sessions first. A session that cannot be read
        keeps what is known.

        Ends early, after some tenths of a second, once ``stop()`` is true. ``stepped`` is called whenever a
        little more is known; then sessions that are all new are first looked at, so that all have a title
        soon.
        """
        self._drop_orphans()
        known = {
            name: (size, mtime)
            for name, size, mtime in self.connection.execute("SELECT id, size, mtime FROM sessions")
        }
        newest_first = sorted(
            scan_sessions(self._dir), key=lambda item: (item[0], item[2].name), reverse=True
        )
        self._found = {
            path.name: (size, mtime)
            for mtime, size, path in newest_first
            if clean_text(path.name) == path.name  # SQLite takes text only
        }
        for name in known.keys() - self._found.keys():
            with self._transaction():
                self._forget(name)
        if stepped is not None:
            self._glance_at([name for name in self._found if name not in known], stop, stepped)
        for name, there in self._found.items():
            if stop is not None and stop():
                return
            if known.get(name) != there:
                self._take_in_all(name, stop, stepped)

    def _take_in_all(
        self, name: str, stop: Callable[[], bool] | None, stepped: Callable[[], object] | None
    ) -> None:
        while self._step(self.folder(name)) and not (stop is not None and stop()):
            pass
        if stepped is not None:
            stepped()

    def _glance_at(
        self, names: list[str], stop: Callable[[], bool] | None, stepped: Callable[[], object]
    ) -> None:
        """Lists new sessions by the beginnings and ends of their files; they are read whole later."""
        for place in range(0, len(names), _GLANCES):
            if stop is not None and stop():
                return
            seen: list[tuple[str, SessionState]] = []
            for name in names[place : place + _GLANCES]:
                with suppress(OSError):  # deleted or locked away meanwhile
                    seen.append((name, glance(self.folder(name))))
            with self._transaction():
                for name, state in seen:
                    if self._row(name) is None:
                        size, mtime = self._found[name]
                        self._list(self._begin(name, 0), self._entry(name, size, mtime, state, indexed=False))
            stepped()

    def rebuild(self) -> None:
        """Forgets everything and reads all files from their beginnings."""
        with self._transaction():
            self._clear()
        self.refresh()

    def entries(self) -> list[CatalogEntry]:
        """All sessions as of the last `refresh`, the newest first. Of one that cannot be read only age and
        size are known."""
        rows = self.connection.execute("SELECT entry FROM listed").fetchall()
        found = decode_entries([row[0] for row in rows], str(self._dir), self._root)
        unread = self._found.keys() - {entry.id for entry in found}
        found += [self._entry(name, *self._found[name], SessionState(), indexed=False) for name in unread]
        return sorted(with_titles(found), key=lambda entry: (entry.updated, entry.id), reverse=True)

    def brief(self, name: str) -> str:
        """What was done in a session, as its last brief says; "" without."""
        row = self._row(name)
        return "" if row is None else msgspec.json.decode(row[6], type=SessionState).brief

    def _entry(
        self, name: str, size: int, mtime: float, state: SessionState, *, indexed: bool = True
    ) -> CatalogEntry:
        """``indexed``: see `CatalogEntry`."""
        return CatalogEntry(
            sessions_dir=str(self._dir),
            folder=self._root,
            id=name,
            title=state.shown_title,
            named=bool(state.title),
            first_prompt=state.first_prompt,
            updated=state.last_ts or mtime,
            messages=state.messages if indexed else 0,
            turns=state.turns if indexed else 0,
            size=size,
            model=safe_line(state.model, _NAME_LIMIT),
            cwd=state.cwd[:_PATH_LIMIT],
            branch=safe_line(state.branch, _NAME_LIMIT),
            parent_session=state.parent_session[:_PATH_LIMIT],
            tokens=state.tokens if indexed else 0,
            cost_usd=state.own_cost_usd if indexed else 0.0,
            tags=tuple(state.tags),
            pinned=state.pinned,
            damaged=state.broken,
            indexed=indexed,
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
        try:
            with open_conversation(folder) as stream, self._transaction():
                status = os.fstat(stream.fileno())
                return stat.S_ISREG(status.st_mode) and self._take_in(folder.name, stream, status)
        except OSError:  # deleted or locked away meanwhile
            return False

    def _take_in(self, name: str, stream: BinaryIO, status: os.stat_result) -> bool:
        row = self._row(name)
        if row is not None and row[2:4] == (status.st_size, status.st_mtime):
            return False  # another process was quicker
        if row is None or row[1] not in (0, status.st_ino) or not _goes_on(stream, row[4], row[5]):
            if row is not None:
                self._forget(name)
            self._begin(name, status.st_ino)
            row = self._row(name)
            assert row is not None
        num, cursor = row[0], row[4]
        state = msgspec.json.decode(row[6], type=SessionState)
        stream.seek(cursor)
        rows_before = self._last_row()
        end, is_finished = self._read_lines(num, state, stream, cursor)
        stream.seek(max(0, end - _BEFORE))
        before = stream.read(min(end, _BEFORE))
        size = status.st_size if is_finished else _UNFINISHED
        self.connection.execute(
            "UPDATE sessions SET inode = ?, size = ?, mtime = ?, cursor = ?, before = ?, state = ?"
            " WHERE num = ?",
            (status.st_ino, size, status.st_mtime, end, before, msgspec.json.encode(state), num),
        )
        rows = self._last_row()
        if rows > rows_before:
            self.connection.execute(
                "UPDATE sessions SET low = coalesce(low, ?), high = ? WHERE num = ?",
                (rows_before + 1, rows, num),
            )
        if is_finished:
            self._list(num, self._entry(name, status.st_size, status.st_mtime, state))
        return not is_finished

    def _last_row(self) -> int:
        """The number of the last message that was taken in, of whatever session."""
        found = self.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").fetchone()
        return 0 if found is None else int(found[0])

    def _begin(self, name: str, inode: int) -> int:
        """A row for a session of which nothing was read; its number. ``inode``: 0 where it is not known."""
        row = self.connection.execute(
            "INSERT INTO sessions (id, inode, size, mtime, cursor, before, state)"
            " VALUES (?, ?, ?, 0, 0, x'', ?)",
            (name, inode, _UNFINISHED, b"{}"),
        ).lastrowid
        assert row is not None
        return row

    def _list(self, num: int, entry: CatalogEntry) -> None:
        """What a list shows of a session from now on."""
        self.connection.execute(
            "INSERT OR REPLACE INTO listed VALUES (?, ?, ?)", (num, entry.updated, encode_entry(entry))
        )

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
        for line, length in lines_in(stream):
            if not line.endswith(b"\n") and records_in(line, is_first=state.lines == 0)[1]:
                return cursor, True  # half a line: the rest may come
            for message in fold_line(state, line, is_new):
                self._insert(num, message, cursor, length)
            cursor += length
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
        self.connection.execute("DELETE FROM listed WHERE num = ?", gone)
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
        self.connection.execute("DELETE FROM listed")
        self.connection.execute("DELETE FROM counts")
        self.connection.execute("DELETE FROM sqlite_sequence")


def _goes_on(stream: BinaryIO, cursor: int, before: bytes) -> bool:
    """Whether the file still reads as it did up to the cursor, and goes on with a new line."""
    stream.seek(max(0, cursor - len(before)))
    if stream.read(len(before)) != before:
        return False
    # A last line without its end was complete by itself; with more right behind it, it is another line.
    return not before or before.endswith(b"\n") or stream.read(1) in (b"", b"\n")
