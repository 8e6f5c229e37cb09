"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from mewcode.core.ids import new_id


def write_atomic(path: Path, data: bytes, *, mode: int | None = 0o600, durable: bool = True) -> None:
    """Writes ``data`` beside ``path``, syncs, and renames it over ``path``; raises OSError, leaving the old.

    ``mode``: permission bits of the new file; None takes what the umask gives. ``durable=False`` leaves the
    sync out (for files that can be made again).
    """
    temporary = path.with_name(temporary_name(path.name))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, 0o666 if mode is None else mode)
    try:
        try:
            if mode is not None:
                os.fchmod(descriptor, mode)
            write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_dir(path.parent)


def write_new(path: Path, data: bytes) -> None:
    """Makes a file with the bits that the umask gives, whole or not at all. Raises FileExistsError where
    anything is there, which stays as it is, and OSError."""
    temporary = path.with_name(temporary_name(path.name))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: there the name is taken first
            os.close(os.open(path, flags, 0o666))
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_dir(path.parent)


def temporary_name(name: str) -> str:
    """A hidden name, not taken yet, for what is to become the file ``name`` of the same folder."""
    return f".{name[:40]}.{new_id(8)}.tmp"


def sweep_temporaries(folder: Path, *, before: float) -> None:
    """Removes what an end in the midst of a write left in a folder: files named by `temporary_name` that were
    last written before a moment (Unix time). What cannot be removed stays; never raises OSError."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") and entry.name.endswith(".tmp"):
                _remove_older(entry, before)


def _remove_older(entry: os.DirEntry[str], before: float) -> None:
    with suppress(OSError):
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(status.st_mode) and status.st_mtime < before:
            os.unlink(entry.path)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of ``data`` at the descriptor's place. Raises OSError, with a part of it written."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_dir(folder: Path | str, dir_fd: int | None = None) -> None:
    """Makes a rename or a new name in ``folder`` (as seen from the folder ``dir_fd``, where one is given)
    durable. A file system that cannot is left alone; raises OSError where the folder cannot be opened."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), dir_fd=dir_fd)
    try:
        os.fsync(descriptor)
    except OSError:  # some network and FUSE file systems refuse to sync a folder
        return
    finally:
        os.close(descriptor)
