"""What notes were used, in ``.usage.jsonl``: a line for each use, folded once a month to one for each note.

A use costs one small write and touches no note. Nothing counts as unused before the history is old enough
(`Usage.since`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from mewcode.core.codec import decode_json, encode_json
from mewcode.infra.append_file import CAREFUL, AppendFile
from mewcode.infra.atomic import write_atomic
from mewcode.memory.dates import known_time
from mewcode.memory.entry import Cache, Use
from mewcode.memory.files import NoteCalls

USAGE = ".usage.jsonl"
SINCE = ".since"
"""Stands where a folded line would have a file: since when uses were counted."""
_MOST_READ = 8 << 20
"""Bytes that are read of the file at once; more than that is of no use to anybody."""


class Usage(msgspec.Struct, frozen=True):
    """``uses`` by file; ``since``: the first use that was counted, 0 where there is none."""

    uses: dict[str, Use] = {}
    since: float = 0.0
    size: int = 0
    inode: int = 0

    def of(self, file: str) -> Use:
        return self.uses.get(file, _NONE)


_NONE = Use()


def add_uses(folder: Path, files: Iterable[str], how: str, *, now: float, calls: NoteCalls) -> None:
    """Counts a use of each of these files. Needs no lock. Raises OSError."""
    lines = [encode_json({"ts": now, "file": file, "how": how}) for file in files]
    if lines:
        _append(folder, b"\n".join(lines), calls)


def add_rename(folder: Path, old: str, new: str, *, now: float, calls: NoteCalls) -> None:
    """What the uses of one file counted counts for another from now on. Raises OSError."""
    _append(folder, encode_json({"ts": now, "file": new, "from": old}), calls)


def _append(folder: Path, data: bytes, calls: NoteCalls) -> None:
    file = AppendFile(folder / USAGE, calls)
    try:
        file.append(data + b"\n")
    finally:
        file.close()


def read_usage(folder: Path, cache: Cache | None) -> Usage:
    """The uses of a level, of which only what is new since the cache is read. Never raises."""
    try:
        descriptor = os.open(folder / USAGE, os.O_RDONLY | CAREFUL)
    except OSError:  # nothing was counted yet
        return Usage()
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        known = Usage()
        if cache and cache.uses_inode == status.st_ino and cache.uses_size <= status.st_size:
            known = Usage(cache.uses, cache.uses_since, cache.uses_size, cache.uses_inode)
        if known.size == status.st_size and known.inode:
            return known
        stream.seek(max(known.size, status.st_size - _MOST_READ))
        try:
            data = stream.read(_MOST_READ)
        except OSError:
            return known
    whole = data[: data.rfind(b"\n") + 1]
    uses, since = dict(known.uses), known.since
    for line in whole.splitlines():
        since = _fold(uses, since, line)
    return Usage(uses, since, stream_place(known.size, status.st_size, len(data), len(whole)), status.st_ino)


def stream_place(known: int, size: int, read: int, whole: int) -> int:
    """How far the file was read: to the end of the last whole line."""
    return max(known, size - _MOST_READ) + whole if read else known


def _fold(uses: dict[str, Use], since: float, line: bytes) -> float:
    try:
        value = decode_json(line)
    except ValueError:
        return since
    if not isinstance(value, dict):
        return since
    file, when, count = value.get("file"), value.get("ts"), value.get("count", 1)
    if not (isinstance(file, str) and isinstance(when, int | float) and isinstance(count, int)):
        return since
    when = known_time(when)
    if file == SINCE:
        return min(since, when) if since else when
    old = uses.pop(value["from"], _NONE) if isinstance(value.get("from"), str) else None
    use = uses.get(file, _NONE)
    if old is not None:
        uses[file] = Use(use.count + old.count, max(use.last, old.last))
        return since
    uses[file] = Use(use.count + max(count, 0), max(use.last, when))
    return min(since, when) if since else when


def compact(folder: Path, usage: Usage, *, now: float) -> bool:
    """Folds the file where it holds uses of an earlier month, once a month; whether it did. For the holder of
    the lock; a use that is counted at this very moment may be lost. Raises OSError."""
    path = folder / USAGE
    try:
        with open(os.open(path, os.O_RDONLY | CAREFUL), "rb") as stream:
            first = stream.readline(4096)
    except OSError:
        return False
    folded_at = _folded_at(first)
    begin = folded_at or usage.since
    if not begin or _month(begin) == _month(now):
        return False
    lines = [encode_json({"ts": usage.since, "file": SINCE, "folded": now})]
    lines += [
        encode_json({"ts": use.last, "file": file, "count": use.count})
        for file, use in sorted(usage.uses.items())
    ]
    write_atomic(path, b"\n".join(lines) + b"\n")
    return True


def _folded_at(line: bytes) -> float:
    try:
        value = decode_json(line)
    except ValueError:
        return 0.0
    folded = value.get("folded") if isinstance(value, dict) else None
    return known_time(folded) if isinstance(folded, int | float) else 0.0


def _month(when: float) -> tuple[int, int]:
    return time.gmtime(when)[:2]
