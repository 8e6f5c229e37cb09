"""A fork: a session that goes on from a message of another one and leaves that as it is.

Nothing is copied. The fork's folder holds hard links to the files of what it continues (``base-1.jsonl`` and
on, the oldest first), each with the number of bytes that count, and to the large tool results. Files of ours
only grow, or are replaced whole, so a link keeps what it held whatever becomes of the other session.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Unpack

import msgspec

from mewcode.core.errors import SessionError
from mewcode.infra.atomic import temporary_name
from mewcode.sessions.append_file import CAREFUL, CONVERSATION, FileCalls, write_all
from mewcode.sessions.archive import SessionWriter, WriterOptions
from mewcode.sessions.reader import load_session
from mewcode.sessions.record import Base, Fork, decode_line
from mewcode.sessions.session_file import make_session_folder, new_session_name
from mewcode.sessions.tool_results import TOOL_RESULTS

_HEADER_LIMIT = 65_536
_CHUNK = 1 << 20
_BASES = 64
"""Forks of forks that are followed; a header may claim any number."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}")
# Another file system, a user who may not link, a file with too many names, a file system without links.
_NO_LINK = frozenset(
    (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
)
_READ = os.O_RDONLY | CAREFUL


def fork_session(
    source: Path,
    sessions_dir: Path,
    *,
    at: str | msgspec.UnsetType | None = msgspec.UNSET,
    cwd: str | Path,
    provider: str,
    model: str,
    mode: str,
    **options: Unpack[WriterOptions],
) -> SessionWriter:
    """A new session in ``sessions_dir`` that continues ``source``, a session's folder; its open writer, whose
    next message follows ``at``.

    ``at``: the message at which it leaves (None: before the first; default: the source's head, for which its
    file is read). The folder and the session record are made at once. Another process may be writing the
    source; what this one has still in memory is no part of it (`SessionWriter.flush` first). Raises
    SessionError where the source cannot be read or the disk takes nothing; then nothing is left behind.
    """
    if at is msgspec.UNSET:
        at = load_session(source).last_id
    calls, now = options.get("calls", FileCalls()), options.get("now", time.time)
    folder: Path | None = None
    try:
        wanted = sessions_dir / new_session_name(now())
        folder = make_session_folder(wanted, options.get("prepare"), calls, now)
        bases = [] if at is None else _take_bases(source, folder, calls)
        _take_results(source, folder, calls)
        about = {"cwd": str(cwd), "mode": mode, "provider": provider, "model": model}
        fork = Fork(source.name, at, bases)
        writer = SessionWriter(folder, about, at, is_there=True, fork=fork, **options)
        writer.begin()
    except BaseException as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise SessionError(
                f"Session {source.name} cannot be forked: {error.strerror or error}"
            ) from error
        raise
    return writer


def _take_bases(source: Path, folder: Path, calls: FileCalls) -> list[Base]:
    """Links what the source continues and its own file, the oldest first."""
    bases: list[Base] = []
    own = source / CONVERSATION
    for older in _bases_of(own):
        name = f"base-{len(bases) + 1}.jsonl"
        bases.append(Base(name, _take_file(source / older.file, folder / name, older.bytes, calls)))
    name = f"base-{len(bases) + 1}.jsonl"
    return [*bases, Base(name, _take_file(own, folder / name, None, calls))]


def _bases_of(path: Path) -> list[Base]:
    """What the first record of a file names, as far as it may be names of files beside it."""
    with _opened(path) as (descriptor, _), open(descriptor, "rb", closefd=False) as stream:
        record = decode_line(stream.readline(_HEADER_LIMIT))
    if not isinstance(record, dict) or record.get("type") != "session":
        return []
    named = record.get("bases")
    found = []
    for base in named[:_BASES] if isinstance(named, list) else ():
        with suppress(msgspec.ValidationError):
            read = msgspec.convert(base, Base)
            if _PLAIN_NAME.fullmatch(read.file) and read.file != CONVERSATION and read.bytes >= 0:
                found.append(read)
    return found


def _take_file(old: Path, new: Path, limit: int | None, calls: FileCalls) -> int:
    """Links a file, or copies it where that cannot be; how many bytes of it count: ``limit`` at most, up to
    the end of a line. Raises OSError."""
    with _opened(old) as (descriptor, status):
        size = status.st_size if limit is None else min(limit, status.st_size)
        count = _whole_lines(descriptor, size)
        if not _link(old, new, status, calls):
            _copy(descriptor, new, count, calls)
        return count


def _link(old: Path, new: Path, status: os.stat_result, calls: FileCalls) -> bool:
    try:
        calls.link(old, new)
    except OSError as error:
        if error.errno in _NO_LINK:
            return False
        raise
    # Between our look and the link, another file (or a link to one) may have come to that name.
    if os.path.samestat(os.stat(new, follow_symlinks=False), status):
        return True
    new.unlink()
    return False


def _copy(descriptor: int, new: Path, count: int, calls: FileCalls) -> None:
    temporary = new.with_name(temporary_name(new.name))
    copy = calls.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        offset = 0
        while offset < count and (piece := os.pread(descriptor, min(_CHUNK, count - offset), offset)):
            write_all(calls, copy, piece)
            offset += len(piece)
        calls.sync(copy)
    finally:
        os.close(copy)
    calls.rename(temporary, new)


def _take_results(source: Path, folder: Path, calls: FileCalls) -> None:
    """Links the large results. One that cannot be had is left out: the conversation is worth more."""
    results = source / TOOL_RESULTS
    try:
        if not stat.S_ISDIR(os.stat(results, follow_symlinks=False).st_mode):
            return
        names = sorted(name for name in os.listdir(results) if _PLAIN_NAME.fullmatch(name))
    except FileNotFoundError:
        return
    if names:
        calls.make_folder(folder / TOOL_RESULTS)
    for name in names:
        with (
            suppress(FileNotFoundError, PermissionError, _NoFile),
            _opened(results / name) as (descriptor, status),
        ):
            new = folder / TOOL_RESULTS / name
            if not _link(results / name, new, status, calls):
                _copy(descriptor, new, status.st_size, calls)


class _NoFile(OSError):
    """A folder, a link, a device."""


@contextmanager
def _opened(path: Path) -> Iterator[tuple[int, os.stat_result]]:
    """A regular file, never by way of a symbolic link."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise _NoFile(error.errno, f"{path.name} is no file") from error
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _NoFile(errno.EINVAL, f"{path.name} is no file")
        yield descriptor, status
    finally:
        os.close(descriptor)


def _whole_lines(descriptor: int, size: int) -> int:
    """The bytes up to the last line end before ``size``."""
    end = size
    while end > 0:
        start = max(0, end - _CHUNK)
        piece = os.pread(descriptor, end - start, start)
        newline = piece.rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
