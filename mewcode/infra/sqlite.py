"""SQLite as a cache: a file that may be thrown away at any time, and is where it is damaged.

Several processes use one file at once. Nothing is kept here that cannot be made again.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path

from mewcode.core.errors import MewCodeError
from mewcode.infra.paths import private_dir

BUSY_SECONDS = 30.0
"""How long a writer waits for another: a first indexing commits far more often than that."""
_SIDE_FILES = ("", "-wal", "-shm", "-journal")


def open_cache(
    path: Path, version: int, schema: str, *, any_thread: bool = False
) -> tuple[sqlite3.Connection, str]:
    """An open cache of that schema, made where it is missing, and a notice for the user ("": none).

    A damaged file, or one of another version, is replaced by an empty one. Where the folder cannot be
    written the cache is in memory, for this process alone. Transactions are begun and ended by hand.
    ``any_thread``: the caller sees to it that one thread at a time uses it. Raises MewCodeError where this
    SQLite cannot hold it at all.
    """
    try:
        try:
            return _open(path, version, schema, any_thread), ""
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            discard_cache(path)
            made = _open(path, version, schema, any_thread)
            return made, f"the index was damaged and is built anew ({path})"
    except (sqlite3.Error, OSError) as error:
        return open_in_memory(path, version, schema, error)


def open_in_memory(
    path: Path, version: int, schema: str, reason: sqlite3.Error | OSError
) -> tuple[sqlite3.Connection, str]:
    """A cache for this process alone, in place of the one at ``path``. Raises as `open_cache`."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _create(connection, version, schema)
    except sqlite3.OperationalError as error:
        connection.close()
        raise MewCodeError(
            f"this Python's SQLite {sqlite3.sqlite_version} cannot hold the index: {error}",
            "It needs full-text search (FTS5). Use a Python that has it.",
        ) from error
    why = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return connection, f"the index cannot be kept and is built for this once: {why} ({path})"


def discard_cache(path: Path) -> None:
    """Removes a cache's files. Who has them open goes on with what they have. Raises OSError."""
    for end in _SIDE_FILES:
        path.with_name(path.name + end).unlink(missing_ok=True)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is no sound database, rather than busy or out of room."""
    return isinstance(error, sqlite3.DatabaseError) and error.sqlite_errorcode & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )


def _open(path: Path, version: int, schema: str, any_thread: bool) -> sqlite3.Connection:
    private_dir(path.parent)
    _check_own(path.parent)
    # SQLite would make it with the rights that the umask leaves.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not any_thread
    )
    try:
        found = _version(connection)
        if found not in (0, version):
            raise sqlite3.DatabaseError(f"version {found}")
        connection.execute("PRAGMA journal_mode=WAL")
        # What a power cut takes is made again; a file it tears is found to be damaged.
        connection.execute("PRAGMA synchronous=OFF")
        if not found:
            _create(connection, version, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_own(folder: Path) -> None:
    """Raises OSError for a folder in which others could put a file of theirs for us to write to, as where
    caches are told to lie in a place that all may write to."""
    status = os.stat(folder)
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "others may write to the folder of the caches")


def _create(connection: sqlite3.Connection, version: int, schema: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if not _version(connection):  # else another process was quicker
        for statement in schema.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={version}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
