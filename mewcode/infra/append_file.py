"""A file that records are only ever added to, each with one write call.

The file is never truncated and never rewritten. What a failed write left behind is closed off by a newline
before the next record, so a reader loses that piece and nothing after it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

CAREFUL = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Flags to open a file with that may have come with its folder: a FIFO must not make us wait, a symbolic link
not lead us out of the folder."""


class FileCalls:
    """The system calls that change an archive's files: the seam at which a disk can be made to fail."""

    def open(self, path: Path, flags: int, mode: int) -> int:
        return os.open(path, flags, mode)

    def make_folder(self, path: Path) -> None:
        path.mkdir(mode=0o700)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        # fdatasync leaves out the time stamps; macOS has none
        getattr(os, "fdatasync", os.fsync)(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def link(self, old: Path, new: Path) -> None:
        """A second name for a file; a symbolic link is not followed."""
        os.link(old, new, follow_symlinks=False)


def write_all(calls: FileCalls, descriptor: int, data: bytes | memoryview) -> None:
    """Writes all of the data, in as many calls as it takes. Raises OSError, with a part of it written."""
    view = memoryview(data)
    while view:
        try:
            count = calls.write(descriptor, view)
        except InterruptedError:
            continue
        if not count:
            raise OSError("the disk took nothing")
        view = view[count:]


class AppendFile:
    """One open file. `append` puts a record at its end or raises OSError; then it can be tried again.

    ``new``: the file was empty when it was opened. The descriptor is open until `close`.
    """

    def __init__(self, path: Path, calls: FileCalls) -> None:
        """Opens or makes the file (0600). Raises OSError, also where the path is no regular file."""
        self._path = path
        self._calls = calls
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        self._descriptor = calls.open(path, flags | CAREFUL, 0o600)
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is no file")
            self._identity = (status.st_dev, status.st_ino)
            self.new = status.st_size == 0
            self._torn = not self.new and os.pread(self._descriptor, 1, status.st_size - 1) != b"\n"
        except BaseException:
            os.close(self._descriptor)
            raise

    @property
    def descriptor(self) -> int:
        return self._descriptor

    def append(self, line: bytes) -> None:
        """Adds a line (its ``\\n`` included). Raises OSError where it is not, as a whole, in the file."""
        data = b"\n" + line if self._torn else line
        written = 0
        try:
            while written < len(data):
                count = self._write(memoryview(data)[written:] if written else data)
                if not count:
                    raise OSError("the disk took nothing")
                written += count
        except OSError:
            # Where only the newline is missing, the record is there: to write it again would double it.
            if written:
                self._torn = True
            if written < len(data) - 1:
                raise
        else:
            self._torn = False

    def _write(self, data: bytes | memoryview) -> int:
        while True:
            try:
                return self._calls.write(self._descriptor, data)
            except InterruptedError:
                continue

    def in_place(self) -> bool:
        """Whether the path still leads to this file: a deleted file takes writes and loses them."""
        try:
            status = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def close(self) -> None:
        os.close(self._descriptor)
