"""The index of a session's checkpoints: one JSON object a line, only ever added to.

    {"n", "type": "before", "ts", "turn", "path", "state"}   a file's state before a turn first changed it
    {"n", "type": "after", "ts", "path", "state"}            its state once a tool or a command changed it
    {"n", "type": "rewind", "ts", "turn", "kept", "last", "at", "head", "conversation", "files"}
                                                             a rewind, which is a turn of its own
    {"n", "type": "note", "ts", "turn", "text"}              what happened in a turn that no checkpoint holds

``n`` counts up by one. ``turn`` is the id of the user's message that began it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from mewcode.core.codec import clean_text, decode_json, encode_json
from mewcode.sessions.append_file import AppendFile, FileCalls

_LONGEST_LINE = 1 << 20
"""Bytes; a path has 4,096 at most, a link's target likewise."""
_MODES = 0o7777
"""The largest permission bits there are."""

Kind = Literal["file", "link", "absent", "commit", "unknown"]


class FileState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stood at a path. ``file``: content ``blob`` (BLAKE2b in hex), permission bits ``mode``. ``link``:
    its ``target``. ``absent``: nothing; ``folder`` is the first folder on the way that was missing too.
    ``commit``: the content of git's commit ``blob``, which was checked out unchanged. ``unknown``: ``why``
    says what is in the way."""

    kind: Kind
    blob: str = ""
    size: int = 0
    mtime_ns: int = 0
    mode: int = 0
    target: str = ""
    folder: str = ""
    why: str = ""

    def same(self, other: FileState) -> bool:
        """Whether both are one state: by content where that is known, else by size and time."""
        if self.kind != other.kind or self.mode != other.mode or self.target != other.target:
            return False
        if self.blob and other.blob:
            return self.blob == other.blob
        return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the index; see the module. ``raw`` is the path in hex where it is no UTF-8.

    Of a rewind: ``kept`` is the last message of the user's that stays ("" for none), ``last`` and ``head``
    the last one of the user's and the last of all that there was before it, ``at`` the ``n`` to which it went
    back. ``by``: "command" where no tool
    of ours made the change."""

    n: int
    type: Literal["before", "after", "rewind", "note"]
    ts: float = 0.0
    turn: str = ""
    path: str = ""
    raw: str = ""
    state: FileState | None = None
    by: str = ""
    kept: str = ""
    last: str = ""
    at: int = 0
    head: str | None = None
    conversation: bool = False
    files: bool = False
    text: str = ""


class CheckpointLog:
    """The entries of ``<folder>/index.jsonl``, in memory and, as far as the disk takes them, on the disk.

    ``folder`` gives the folder of the checkpoints, whose parent must exist for anything to be written.
    Nothing is read before the first question. Nothing raises: ``failing`` says why the index is not being
    kept, and what was not written goes along with the next entry.
    """

    def __init__(self, folder: Path, calls: FileCalls | None = None) -> None:
        self.failing = ""
        self.read_upto = -1
        """The last ``n`` that was on the disk when this was loaded: entries of an earlier run."""
        self._folder = folder
        self._calls = calls or FileCalls()
        self._entries: list[Entry] | None = None
        self._unwritten: list[bytes] = []

    @property
    def entries(self) -> list[Entry]:
        """All of them, oldest first."""
        if self._entries is None:
            self._entries = _read(self._folder / "index.jsonl")
            self.read_upto = self.next_n - 1
        return self._entries

    @property
    def next_n(self) -> int:
        entries = self.entries
        return entries[-1].n + 1 if entries else 0

    def add(self, entry: Entry) -> None:
        """Adds an entry, whose ``n`` must be `next_n`."""
        self.entries.append(entry)
        self._unwritten.append(_encode(entry))
        try:
            self._write()
        except OSError as error:
            self.failing = error.strerror or str(error)
        else:
            self.failing = ""

    def _write(self) -> None:
        make_folder(self._folder, self._calls)
        file = AppendFile(self._folder / "index.jsonl", self._calls)
        try:
            while self._unwritten:
                file.append(self._unwritten[0])
                del self._unwritten[0]
        finally:
            file.close()


def make_folder(folder: Path, calls: FileCalls) -> None:
    """The folder of the checkpoints, within a session's folder that exists. Raises OSError."""
    try:
        calls.make_folder(folder)
    except FileExistsError:
        return


def path_of(entry: Entry) -> str:
    """The path as the system spells it."""
    return os.fsdecode(bytes.fromhex(entry.raw)) if entry.raw else entry.path


def path_fields(path: str) -> tuple[str, str]:
    """``path`` and ``raw`` of an entry."""
    clean = clean_text(path)
    return (path, "") if clean == path else (clean, os.fsencode(path).hex())


def _encode(entry: Entry) -> bytes:
    value = msgspec.to_builtins(entry)
    state = value.get("state")
    if state and clean_text(state.get("target", "")) != state.get("target", ""):
        # The target of a link that is no UTF-8: written as an unknown state rather than as another target.
        value["state"] = {"kind": "unknown", "why": "a link to a name that is not UTF-8"}
    return encode_json(value) + b"\n"


def _read(path: Path) -> list[Entry]:
    """What can be read of the index; lines that are none, and any out of order, are left out."""
    entries: list[Entry] = []
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as stream:
            while line := stream.readline(_LONGEST_LINE):
                entry = _decode(line)
                if entry is not None and (not entries or entry.n > entries[-1].n):
                    entries.append(entry)
    except OSError:  # none there: nothing was changed yet; none to be read: nothing can be restored
        return entries
    return entries


def _decode(line: bytes) -> Entry | None:
    try:
        entry = msgspec.convert(decode_json(line), Entry)
        path = path_of(entry)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None
    if entry.type in ("before", "after") and not (_is_plain(path) and _is_possible(entry.state)):
        return None
    return entry


def _is_plain(path: str) -> bool:
    """Whether the path names a place as it is: with ``..`` in it, it could seem to lie where it does not."""
    is_normal = os.path.normpath(path) == (path.rstrip("/") or "/")
    return os.path.isabs(path) and "\0" not in path and is_normal


def _is_possible(state: FileState | None) -> bool:
    return state is not None and 0 <= state.mode <= _MODES and "\0" not in state.target + state.folder
