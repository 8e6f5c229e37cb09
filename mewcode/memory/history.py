"""Every change of a level's notes, in ``.history.jsonl``: what, by whom, why, and the text before and after.

It is also what makes a change whole: a record is on the disk before the first file is touched, and a line
``{"done": id}`` follows the last. Whoever finds a record without one carries it out (`open_change`). A record
that was taken back because the disk refused has a line ``{"void": id}``. Texts are without secrets.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from mewcode.core.codec import decode_json, encode_json
from mewcode.infra.append_file import CAREFUL, AppendFile, FileCalls
from mewcode.memory.dates import known_time

if TYPE_CHECKING:
    from mewcode.memory.note import Level

HISTORY = ".history.jsonl"
By = Literal["user", "agent", "tidy", "hand", "import"]
"""Who changed a note: the person by a command, the model, the upkeep, the person in the file itself."""

_CHUNK = 1 << 16
_TAIL = 256


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """What becomes of one file: its text before and after, None where there was or is none. ``was``: the
    digest of its bytes before, where its text here is not all of it (a secret is left out). ``moved``: where
    the note went, where it is not gone: a file of this level, or the other level. ``by_hand``: a
    person wrote into the file what it says after."""

    file: str
    before: str | None = None
    after: str | None = None
    was: str = ""
    moved: str = ""
    by_hand: bool = False


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of any number of files. ``what``: a phrase for each note. ``source``: the message or record it
    rests on. ``undoes``: the change that it takes back. The same id in both levels is one change."""

    id: str
    ts: float
    by: By
    what: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    source: str = ""
    reason: str = ""
    undoes: str = ""


class Log:
    """The history of one level. Written by whoever holds the level's lock only."""

    def __init__(self, folder: Path, calls: FileCalls) -> None:
        self._path = folder / HISTORY
        self._calls = calls

    def begin(self, change: Change) -> None:
        """Puts the change on the disk. Raises OSError where it is not there."""
        self._append(encode_json(change), sync=True)

    def end(self, change_id: str, *, void: bool = False) -> None:
        """Says that the change is carried out, or taken back. Raises OSError."""
        self._append(encode_json({"void" if void else "done": change_id}), sync=void)

    def _append(self, line: bytes, *, sync: bool) -> None:
        file = AppendFile(self._path, self._calls)
        try:
            file.append(line + b"\n")
            if sync:
                self._calls.sync(file.descriptor)
        finally:
            file.close()

    def changes(self) -> list[Change]:
        """All that were carried out, the oldest first; lines that are none are left out. Raises OSError."""
        found: dict[str, Change] = {}
        for line in self._lines():
            if isinstance(line, Change):
                found[line.id] = line
            elif isinstance(line, str):
                found.pop(line, None)
        return list(found.values())

    def open_change(self) -> Change | None:
        """The last change, where nothing says that it was carried out. Reads the end of the file only. Raises
        OSError."""
        line = self._last_line()
        value = _decode(line) if line else None
        return value if isinstance(value, Change) else None

    def _lines(self) -> Iterator[Change | str | None]:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | CAREFUL)
        except FileNotFoundError:
            return
        with open(descriptor, "rb") as stream:
            for line in stream:
                if not line.startswith(b'{"done"'):
                    yield _decode(line)

    def _last_line(self) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | CAREFUL)
        except FileNotFoundError:
            return b""
        with open(descriptor, "rb") as stream:
            place = stream.seek(0, os.SEEK_END)
            data, size = b"", _TAIL
            while place > 0:
                size, place = min(size, place), max(0, place - size)
                stream.seek(place)
                data = stream.read(size) + data
                line = data.rstrip(b"\n").rpartition(b"\n")
                if line[1]:
                    return line[2]
                size = _CHUNK
            return data.rstrip(b"\n")


def _decode(line: bytes) -> Change | str | None:
    """A change, the id of one that was taken back, or nothing."""
    try:
        value = decode_json(line)
        if not isinstance(value, dict):
            return None
        if void := value.get("void"):
            return str(void)
        if "steps" not in value:
            return None
        change = msgspec.convert(value, Change)
        return msgspec.structs.replace(change, ts=known_time(change.ts))
    except (ValueError, msgspec.ValidationError):  # torn, or not ours
        return None


def by_id(history: Iterable[tuple[Level, Change]]) -> dict[str, list[tuple[Level, Change]]]:
    """The changes by their ids, each with its parts by level, in the order of the history."""
    found: dict[str, list[tuple[Level, Change]]] = {}
    for level, change in history:
        found.setdefault(change.id, []).append((level, change))
    return found
