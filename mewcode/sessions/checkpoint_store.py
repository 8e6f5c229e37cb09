"""The contents of files as they were: each is kept once, under the name of its BLAKE2b hash."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from mewcode.infra.atomic import write_atomic
from mewcode.infra.paths import private_dir
from mewcode.sessions.append_file import FileCalls
from mewcode.sessions.checkpoint_log import FileState, make_folder

LARGEST_FILE = 50 * 1024 * 1024
"""Bytes. A larger file is data, not source: to copy it takes a second of a turn, and a disk in a day."""
MOST_BYTES = 500 * 1024 * 1024
"""Bytes of all contents of one session: fifty sessions at this size fill a small disk's free half."""

_NAME = re.compile(r"[0-9a-f]{64}")
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def digest_of(data: bytes) -> str:
    """BLAKE2b (32 bytes) in hex."""
    import hashlib  # loads OpenSSL, which the start does not need

    return hashlib.blake2b(data, digest_size=32).hexdigest()


class CheckpointStore:
    """The folder ``blobs`` in the folder of a session's checkpoints, made with the first content."""

    def __init__(self, folder: Path, calls: FileCalls | None = None) -> None:
        self._folder = folder
        self._calls = calls or FileCalls()
        self._sizes: dict[str, int] | None = None
        self._total = 0

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes by name, of what is there."""
        return self._known()

    @property
    def total(self) -> int:
        """Bytes of all of it."""
        self._known()
        return self._total

    def _known(self) -> dict[str, int]:
        if self._sizes is None:
            self._sizes = _sizes_in(self._folder / "blobs")
            self._total = sum(self._sizes.values())
        return self._sizes

    def keep(self, data: bytes, *, durable: bool) -> str:
        """The name under which ``data`` is kept from now on. Raises OSError where it is not."""
        name = digest_of(data)
        if name in self.sizes:
            return name
        folder = self._folder / "blobs"
        make_folder(self._folder, self._calls)
        make_folder(folder, self._calls)
        write_atomic(folder / name, data, durable=durable)
        self._known()[name] = len(data)
        self._total += len(data)
        return name

    def load(self, name: str) -> bytes | None:
        """The content of this name, None where it is not there, or is another by now."""
        if not _NAME.fullmatch(name):
            return None
        try:
            data = read_regular(self._folder / "blobs" / name)
        except OSError:
            return None
        return data if data is not None and digest_of(data) == name else None

    def drop(self, names: Collection[str]) -> None:
        """Removes contents; one that cannot be removed stays."""
        for name in names:
            try:
                (self._folder / "blobs" / name).unlink(missing_ok=True)
            except OSError:
                continue
            self._total -= self._known().pop(name, 0)


def read_regular(path: Path) -> bytes | None:
    """The file's content; None where it is longer than `LARGEST_FILE`. Raises OSError, also for what is no
    regular file."""
    with open(os.open(path, _READ), "rb", buffering=0) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no file")
        if status.st_size > LARGEST_FILE:
            return None
        data = bytearray()
        while len(data) <= LARGEST_FILE and (piece := stream.read(LARGEST_FILE + 1 - len(data))):
            data += piece
        return bytes(data) if len(data) <= LARGEST_FILE else None


def observe(path: str, store: CheckpointStore | None = None, *, durable: bool = False) -> FileState:
    """The state of what stands at ``path`` now; its content is kept in ``store``, where one is given. Raises
    OSError only where the store cannot keep it."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return FileState("absent", folder=_missing_folder(path))
    except (OSError, ValueError) as error:
        return FileState("unknown", why=_because(error))
    try:
        if stat.S_ISLNK(status.st_mode):
            return FileState("link", target=os.readlink(path))
        if not stat.S_ISREG(status.st_mode):
            return FileState("unknown", why="a folder" if stat.S_ISDIR(status.st_mode) else "no regular file")
        data = read_regular(Path(path))
    except OSError as error:
        return FileState("unknown", why=_because(error), size=status.st_size, mtime_ns=status.st_mtime_ns)
    size, mtime, mode = status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode)
    if data is None:
        return FileState("unknown", "", size, mtime, mode, why=f"larger than {LARGEST_FILE >> 20} MB")
    blob = digest_of(data) if store is None else store.keep(data, durable=durable)
    return FileState("file", blob, size, mtime, mode)


def _missing_folder(path: str) -> str:
    """The topmost folder on the way to ``path`` that is not there; empty where all are."""
    missing, folder = "", os.path.dirname(path)
    while folder != os.path.dirname(folder) and not os.path.lexists(folder):
        missing, folder = folder, os.path.dirname(folder)
    return missing


def _because(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _sizes_in(folder: Path) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name: entry.stat(follow_symlinks=False).st_size
                for entry in entries
                if _NAME.fullmatch(entry.name)
            }
    except OSError:  # nothing was kept yet, or nothing of it can be read
        return {}


def link_checkpoints(source: Path, target: Path) -> None:
    """Gives the session in ``target`` the checkpoints of the one in ``source``, which it continues.

    The index is copied; the contents, which never change, are linked. What the disk refuses is not there.
    """
    index = source / "checkpoints" / "index.jsonl"
    try:
        data = read_regular(index)
        if data is None:  # of so many changes nobody takes back the oldest
            return
        blobs = target / "checkpoints" / "blobs"
        private_dir(blobs)
        write_atomic(target / "checkpoints" / "index.jsonl", data)
    except OSError:
        return
    for name in _sizes_in(source / "checkpoints" / "blobs"):
        with suppress(OSError):
            os.link(source / "checkpoints" / "blobs" / name, blobs / name)
