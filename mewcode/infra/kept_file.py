"""Files in which a start keeps what it has made for the next one, where the system keeps caches.

They are the user's own and lie apart from the workspace: what came with a repository is never taken for one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_SUFFIX = ".msgpack"
_MOST_FILES = 50
"""Workspaces; of more, the one whose file was written the longest ago gives way."""
_TEMPORARY_FOR = 3_600.0
"""Seconds after which what a write left behind is removed."""


class KeptFile:
    """Of one workspace. ``folder``: for files of this kind; ``key``: what tells the workspace from others,
    and what the content has to repeat, since two keys may share a file. ``most``: bytes. May be used from any
    thread."""

    def __init__(self, folder: Path, key: str, root: Path, most: int) -> None:
        self._folder = folder
        self._key = key
        self._root = root
        self._most = most

    def read(self) -> bytes:
        """The content. Raises OSError where there is none, and ValueError for a file that is not the user's
        own, that others can write, or that is too large."""
        self._check_apart()
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path(), flags)
        try:
            status = os.fstat(descriptor)
            is_own = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if not (is_own and stat.S_ISREG(status.st_mode) and status.st_size <= self._most):
                raise ValueError("not a file of ours")
            return os.read(descriptor, status.st_size)
        finally:
            os.close(descriptor)

    def write(self, data: bytes) -> None:
        """Replaces the content, unless that is too much to keep. Raises OSError, and ValueError where the
        caches lie within the workspace."""
        from mewcode.infra.atomic import write_atomic
        from mewcode.infra.paths import private_dir

        self._check_apart()
        if len(data) <= self._most:
            private_dir(self._folder)
            write_atomic(self._path(), data, durable=False)
            _tidy(self._folder)

    def _check_apart(self) -> None:
        folder, root = os.path.realpath(self._folder), os.path.realpath(self._root)
        if folder == root or folder.startswith(root.rstrip(os.sep) + os.sep):
            raise ValueError("the caches lie within the workspace")

    def _path(self) -> Path:
        import zlib  # quicker to load than what makes a digest; the content says whose it is

        key = os.fsencode(self._key)
        return self._folder / f"{zlib.crc32(key):08x}{zlib.adler32(key):08x}{_SUFFIX}"


def _tidy(folder: Path) -> None:
    """Removes the oldest above `_MOST_FILES`. Raises OSError."""
    import time

    from mewcode.infra.atomic import sweep_temporaries

    sweep_temporaries(folder, before=time.time() - _TEMPORARY_FOR)
    with os.scandir(folder) as entries:
        files = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(_SUFFIX)]
    for _, path in sorted(files, reverse=True)[_MOST_FILES:]:
        os.unlink(path)
