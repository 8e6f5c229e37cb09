"""What a session of another program is made of, before it becomes one of ours; and how its lines are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from mewcode.core.codec import decode_json
from mewcode.core.errors import SessionError
from mewcode.core.message import Message, Usage

Kind = Literal["claude-code", "codex", "kimi", "mewcode"]

_LONGEST = 64 << 20
"""Bytes of a line; a longer one counts as broken. Pictures of some megabytes stand in one line."""
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Said(msgspec.Struct, frozen=True):
    """A message without an id. ``ts``: Unix time, 0 where unknown."""

    message: Message
    ts: float = 0.0


class Compacted(msgspec.Struct, frozen=True):
    """The conversation begins anew with ``messages``; with ``keeps_words`` the newest of the user's own stay
    before them."""

    messages: tuple[Message, ...]
    ts: float = 0.0
    keeps_words: bool = False


class RolledBack(msgspec.Struct, frozen=True):
    """The last ``turns`` turns of the user are taken back."""

    turns: int
    ts: float = 0.0


class Kept(msgspec.Struct, frozen=True):
    """A record of our own, taken as it is: its line. ``ts``: Unix time, 0 where it says nothing of when
    something was said."""

    line: bytes
    is_message: bool
    ts: float = 0.0


Event = Said | Compacted | RolledBack | Kept


class Original(msgspec.Struct):
    """A session as it was found. ``id``: what its program calls it. ``events`` reads the file again each time
    it is called; all else is known before. ``made_title``: a model made the title. ``began``: Unix time, 0
    where unknown. ``used``: tokens by model. ``skipped``: lines that could not be read. ``is_aside``: what a
    sub-agent did for another session."""

    kind: Kind
    events: Callable[[], Iterator[Event]]
    id: str = ""
    cwd: str = ""
    branch: str = ""
    mode: str = ""
    provider: str = ""
    model: str = ""
    title: str = ""
    made_title: bool = False
    began: float = 0.0
    used: dict[str, Usage] = {}
    skipped: int = 0
    is_aside: bool = False


class Lines:
    """The lines of a file that holds a JSON object in each. ``skipped``: those of the last pass that do not;
    a blank line is none."""

    def __init__(self, source: Callable[[], Iterable[bytes]]) -> None:
        """``source`` gives the lines anew each time it is called."""
        self._source = source
        self.skipped = 0

    def values(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects, each with the number of its line. Raises what the source does, else nothing."""
        self.skipped = 0
        for number, line in enumerate(self._source()):
            value = _value(line)
            if value is not None:
                yield number, value
            elif line.strip():
                self.skipped += 1


def _value(line: bytes) -> dict[str, Any] | None:
    try:
        value = decode_json(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def open_file(path: Path) -> int:
    """A descriptor of a regular file. Raises SessionError: a FIFO would be waited for without an end."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        raise SessionError(f"It cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SessionError("It is no file.")
    return descriptor


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, one at a time; of one that is too long only its beginning. Raises SessionError."""
    with open(open_file(path), "rb") as stream:
        try:
            while line := stream.readline(_LONGEST):
                if len(line) == _LONGEST and not line.endswith(b"\n"):
                    line = line[:1]
                    while (rest := stream.readline(_LONGEST)) and not rest.endswith(b"\n"):
                        continue
                yield line
        except OSError as error:
            raise SessionError(f"It cannot be read: {error.strerror or error}") from error
