"""Which sessions have a brief: a file of their names, so that a start need not list ten thousand folders.

It can be thrown away at any time. A name in it says only where to look; what is there decides.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from mewcode.infra.atomic import write_atomic
from mewcode.sessions.append_file import CAREFUL

INDEX_FILE = "briefs.local.index"
"""Beside the folder of sessions, which holds sessions only; version control leaves out ``*.local.*``."""
NAME = r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}"
"""A session's name, as `SessionWriter.create` makes it."""
STAMP = len("YYYYMMDD-HHMMSS")
_READ = 4_096
"""Bytes of the index's end that are read: some 180 names."""
_LARGE = 65_536
"""Bytes beyond which the index is written anew, without repetitions."""

_LOG = logging.getLogger("mewcode.sessions")


def indexed_names(sessions_dir: Path, read: int = _READ) -> tuple[list[str], bool]:
    """The names at the index's end, the newest session first, and whether these are all that it has."""
    flags = os.O_RDONLY | CAREFUL
    try:
        descriptor = os.open(sessions_dir.parent / INDEX_FILE, flags)
    except OSError:
        return [], False
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return [], False
        start = max(0, status.st_size - read)
        piece = os.pread(descriptor, read, start)
    except OSError:
        return [], False
    finally:
        os.close(descriptor)
    lines = piece.decode("ascii", "replace").split("\n")
    names = {line for line in lines if re.fullmatch(NAME, line)}
    return sorted(names, reverse=True), not start


def note_names(sessions_dir: Path, names: Iterable[str]) -> None:
    """Adds names. A disk that takes none costs the next start a few milliseconds, no more."""
    path = sessions_dir.parent / INDEX_FILE
    lines = "".join(f"{name}\n" for name in names if re.fullmatch(NAME, name)).encode()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    flags |= CAREFUL
    try:
        descriptor = os.open(path, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            if lines:
                os.write(descriptor, b"\n" + lines if is_torn else lines)
            is_large = size > _LARGE
        finally:
            os.close(descriptor)
        if is_large:
            kept = sorted(indexed_names(sessions_dir, 16 * _LARGE)[0])[-_LARGE // 64 :]
            write_atomic(path, "".join(f"{name}\n" for name in kept).encode(), durable=False)
    except OSError as error:
        _LOG.info("the index of briefs is not kept: %s", error.strerror)
