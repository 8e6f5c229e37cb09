"""Which files the model has read, and in what state: a file that changed since is not written over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mewcode.core.errors import ToolError

# Above this a file is compared by size and time alone: to hash a gigabyte takes a second.
HASH_LIMIT = 64 * 1024 * 1024


class FileState(msgspec.Struct, frozen=True):
    """``digest`` is BLAKE2b in hex, empty where the file was too large to hash."""

    mtime_ns: int
    size: int
    digest: str = ""


def digest_of(data: bytes) -> str:
    """BLAKE2b (16 bytes) of ``data`` in hex."""
    import hashlib  # loads OpenSSL, which the start does not need

    return hashlib.blake2b(data, digest_size=16).hexdigest()


class ReadTable:
    """The states of files as the model last saw or wrote them, by resolved path. One per session."""

    __slots__ = ("_fresh", "_states")

    def __init__(self) -> None:
        self._states: dict[str, FileState] = {}
        self._fresh: dict[str, FileState] = {}  # what `take_changes` has not given yet

    def __contains__(self, path: Path) -> bool:
        return str(path) in self._states

    def note(self, path: Path, status: os.stat_result, data: bytes | None) -> None:
        """Remembers that the model knows ``data``, the whole file; None where it is too large to hash."""
        digest = digest_of(data) if data is not None and len(data) <= HASH_LIMIT else ""
        state = FileState(status.st_mtime_ns, status.st_size, digest)
        if self._states.get(str(path)) != state:
            self._states[str(path)] = self._fresh[str(path)] = state

    def take_over(self, other: ReadTable) -> None:
        """Remembers all that ``other`` does: the model has seen that since."""
        self._states |= other._states
        self._fresh |= other._states

    def forget(self, path: Path) -> None:
        """The model does not know any more what the file holds."""
        self._states.pop(str(path), None)
        self._fresh.pop(str(path), None)

    def check_data(self, path: Path, status: os.stat_result, data: bytes) -> None:
        """For a file just read as ``data``: raises `ToolError` where it was never read before, or its content
        is another since. A file too large to hash is known by its size and time alone."""
        state = self._known(path)
        if state.digest:
            same = len(data) == state.size and digest_of(data) == state.digest
        else:
            same = (status.st_mtime_ns, status.st_size) == (state.mtime_ns, state.size)
        if not same:
            raise _changed(path)

    def take_changes(self) -> dict[str, dict[str, Any]]:
        """What was noted since the table was made or this was called, as `export` gives it."""
        taken, self._fresh = self._fresh, {}
        return {path: msgspec.to_builtins(state) for path, state in taken.items()}

    def export(self) -> dict[str, dict[str, Any]]:
        """The table as plain data, for `restore`: a session that is continued knows what it had read."""
        return {path: msgspec.to_builtins(state) for path, state in self._states.items()}

    @classmethod
    def restore(cls, data: Mapping[str, Any]) -> ReadTable:
        """The table that `export` gave; what makes no sense in it is left out, so that it is read anew."""
        table = cls()
        for path, value in data.items():
            try:
                table._states[path] = msgspec.convert(value, FileState)
            except msgspec.ValidationError:
                continue
        return table

    def _known(self, path: Path) -> FileState:
        state = self._states.get(str(path))
        if state is None:
            raise ToolError(f"{path} has not been read in this session. Read it first with read_file.")
        return state


def _changed(path: Path) -> ToolError:
    return ToolError(
        f"{path} has changed on disk since it was read. "
        "Read it again, then repeat the change on what is there now."
    )
