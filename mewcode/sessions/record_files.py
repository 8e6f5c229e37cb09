"""The files that hold a session's records, as one row of bytes: those that a fork continues, then its own.

Only so much is read as is asked for: the files are opened, not taken into memory, and not mapped (a mapped
file that another process cuts short ends the process that looks at it).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from mewcode.sessions.append_file import CAREFUL, CONVERSATION
from mewcode.sessions.record import WireMessage, decode_line

BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_HEADER = 65_536
"""Bytes at the start of a file within which its ``session`` record is looked for."""
_FIRST = 32
"""Bytes of a line that say of what type its record is."""
_FIRST_READ = 4_096
_MOST_BASES = 256
"""Forks of forks; each keeps a file open while the session is read."""
_NAME_LIMIT = 255


class Part(msgspec.Struct, frozen=True):
    """A file, or its first bytes. ``start``, ``end``: where it stands in the row."""

    name: str
    descriptor: int
    start: int
    end: int

    def read(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` to ``end`` in the row; fewer where the file has become shorter."""
        found = os.pread(self.descriptor, end - start, start - self.start)
        if len(found) == end - start or not found:
            return found
        pieces = [found]
        at = start + len(found)
        while at < end and (found := os.pread(self.descriptor, end - at, at - self.start)):
            pieces.append(found)
            at += len(found)
        return b"".join(pieces)

    def find_end(self, at: int) -> int:
        """The end of the line that goes on at ``at``, behind its newline."""
        while at < self.end:
            block = self.read(at, min(at + _BLOCK, self.end))
            if not block:
                break
            found = block.find(b"\n")
            if found >= 0:
                return at + found + 1
            at += len(block)
        return self.end

    def lines(self, start: int) -> Iterator[tuple[int, bytes]]:
        """The lines from ``start`` on, each with its place. A long line is never held twice."""
        at = start
        while at < self.end:
            block = self.read(at, min(at + _BLOCK, self.end))
            if not block:
                return
            begun = 0
            while (newline := block.find(b"\n", begun)) >= 0:
                yield at + begun, block[begun : newline + 1]
                begun = newline + 1
            if not begun:
                end = self.find_end(at + len(block))
                del block
                yield at, self.read(at, end)
                at = end
            at += begun

    def search_back(self, what: bytes, before: int, down_to: int) -> Iterator[tuple[int, bytes]]:
        """Where a line begins with ``what``, from ``before`` back to ``down_to``, the last one first, each
        with its first bytes."""
        down_to = max(down_to, self.start)
        wanted = b"\n" + what
        end = min(before, self.end)
        while end > down_to:
            start = max(down_to, end - _BLOCK)
            # the byte before may be the newline, and what begins in this block may end in the next
            from_byte = max(self.start, start - 1)
            block = self.read(from_byte, min(end + _FIRST, self.end))
            found = len(block)
            while (found := block.rfind(wanted, 0, found)) >= 0:
                if from_byte + found + 1 < end:
                    yield from_byte + found + 1, block[found + 1 : found + 1 + _FIRST]
                found += len(wanted) - 1  # rfind looks for what ends before
            if from_byte == self.start and block.startswith(what):
                yield from_byte, block[:_FIRST]
            end = start

    def lines_with(self, what: bytes, before: int, down_to: int) -> Iterator[tuple[int, bytes]]:
        """The lines that hold ``what``, from ``before``, where one begins, back to ``down_to``, the last one
        first, each with its place."""
        down_to = max(down_to, self.start)
        end = min(before, self.end)
        while end > down_to:
            start = max(down_to, end - _BLOCK)
            found = self.read(start, min(end + len(what) - 1, self.end)).rfind(what)
            end = start
            if found >= 0:
                end = self._line_start(start + found)
                yield end, self.read(end, self.find_end(start + found))

    def _line_start(self, at: int) -> int:
        """Where the line begins in which ``at`` stands."""
        while at > self.start:
            start = max(self.start, at - _BLOCK)
            newline = self.read(start, at).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            at = start
        return self.start

    def count(self, wanted: Sequence[bytes], start: int, end: int) -> list[int]:
        """How often each of them stands between two starts of lines; of what stands deep in a line that is
        longer than a block, one or two may be missed."""
        found = [0] * len(wanted)
        longest = max(map(len, wanted))
        at = start
        while at < end:
            block = self.read(at, min(at + _BLOCK, end))
            # what is cut in two is counted with the next block
            whole = block if at + len(block) >= end else block[: block.rfind(b"\n") + 1]
            if not whole:
                whole = block[: len(block) - longest] or block
            if not whole:
                break
            for number, what in enumerate(wanted):
                place = len(whole)  # to look from the end is four times faster than `count`
                while (place := whole.rfind(what, 0, place)) >= 0:
                    found[number] += 1
            at += len(whole)
        return found


class RecordFiles:
    """The open files of a session; see `open`. ``session``: the file's ``session`` record, empty where it
    has none. ``odd``: what is wrong with the files that it continues, in words."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.session: dict[str, Any] = {}
        self.odd: list[str] = []
        self._open = ExitStack()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens a session's files. Raises OSError where its own cannot be opened or is no regular file."""
        files = cls()
        try:
            own = files._take(folder / CONVERSATION, 0)
            files.session = _session_of(own)
            start = 0
            for name, size in files._bases():
                try:
                    part = files._take(folder / name, start, size)
                except OSError as error:
                    files.odd.append(f"a file that it continues cannot be read: {error.strerror or error}")
                    continue
                if part.end - part.start < size:
                    files.odd.append("a file that it continues is too short")
                files.parts.append(part)
                start = part.end
            moved = Part(own.name, own.descriptor, start, start + own.end)
            files.parts.append(moved)
        except BaseException:
            files.close()
            raise
        return files

    @property
    def own(self) -> Part:
        return self.parts[-1]

    @property
    def end(self) -> int:
        return self.own.end

    @property
    def is_fork(self) -> bool:
        return isinstance(self.session.get("bases"), list)

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, start: int, size: int) -> bytes:
        """Bytes that stand within one of the files."""
        part = next(part for part in self.parts if start < part.end)
        return part.read(start, min(start + size, part.end))

    def line_at(self, place: int) -> int:
        """The first start of a line that is not before ``place``."""
        for part in self.parts:
            if place <= part.start:
                return part.start
            if place < part.end:
                return part.find_end(place - 1)
        return self.end

    def search_back(self, what: bytes, before: int, down_to: int) -> Iterator[tuple[int, bytes]]:
        """See `Part.search_back`."""
        for part in reversed(self.parts):
            if part.start < before and part.end > down_to:
                yield from part.search_back(what, before, down_to)

    def lines_with(self, what: bytes, before: int, down_to: int) -> Iterator[tuple[int, bytes]]:
        """See `Part.lines_with`."""
        for part in reversed(self.parts):
            if part.start < before and part.end > down_to:
                yield from part.lines_with(what, before, down_to)

    def lines(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The lines that begin between two places, each with its own."""
        for part in self.parts:
            if part.end > start:
                for place, line in part.lines(max(start, part.start)):
                    if place >= end:
                        return
                    yield place, line

    def count(self, wanted: Sequence[bytes], start: int, end: int) -> list[int]:
        """See `Part.count`."""
        found = [
            part.count(wanted, max(start, part.start), min(end, part.end))
            for part in self.parts
            if part.end > start and part.start < end
        ]
        return [sum(counts) for counts in zip(*found, strict=True)] or [0] * len(wanted)

    def control_at(self, place: int) -> dict[str, Any]:
        """The control record of the line that begins there; empty where it is none, or is too long."""
        part = next(part for part in self.parts if place < part.end)
        line = part.read(place, min(place + _FIRST_READ, part.end))
        if b"\n" not in line:
            line = part.read(place, min(place + _HEADER, part.end))
        record = decode_line(line.partition(b"\n")[0])
        return record if isinstance(record, dict) else {}

    def _take(self, path: Path, start: int, size: int | None = None) -> Part:
        descriptor = os.open(path, os.O_RDONLY | CAREFUL)
        self._open.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("is no file")
        whole = status.st_size
        return Part(path.name, descriptor, start, start + (whole if size is None else min(size, whole)))

    def _bases(self) -> Iterator[tuple[str, int]]:
        """The files that the session record names, as far as they may be opened."""
        bases = self.session["bases"] if self.is_fork else []
        seen = {CONVERSATION}
        for base in bases:
            name, size = (base.get("file"), base.get("bytes")) if isinstance(base, dict) else (None, None)
            if not isinstance(name, str) or not _is_plain(name) or name in seen:
                self.odd.append("a file that it continues is not one of its own folder")
            elif not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**62:
                self.odd.append("a file that it continues has no size")
            elif len(seen) > _MOST_BASES:
                self.odd.append("it continues too many files")
                return
            else:
                seen.add(name)
                yield name, size


def _is_plain(name: str) -> bool:
    """Whether the name is one of a folder's own files, and can be spoken of."""
    return name.isprintable() and len(name) <= _NAME_LIMIT and not {"/", "\\"} & {*name} and name[:1] != "."


def _session_of(own: Part) -> dict[str, Any]:
    """The ``session`` record at the start of the file; a torn one may stand before it."""
    head = own.read(0, min(own.end, _HEADER)).removeprefix(BOM)
    for line in head.split(b"\n"):
        record = decode_line(line) if line else ""
        if isinstance(record, WireMessage):
            break
        if isinstance(record, dict) and record["type"] == "session":
            return record
    return {}
