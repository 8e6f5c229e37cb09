"""When a level is to be tidied up, and whose turn it is: ``.tidy.json`` beside the notes.

One process at a time has the turn, for minutes at most beyond its last word: one that was killed loses it.
The folder's lock is held for no longer than it takes to write the file, so that nobody waits for a tidy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from mewcode.infra.append_file import CAREFUL
from mewcode.infra.atomic import write_atomic
from mewcode.memory.dates import known_time
from mewcode.memory.lock import locked
from mewcode.memory.shelf_store import refused

TURN = ".tidy.json"
LEAST_PAUSE = 24 * 3600.0
"""Seconds between two tidies that nobody asked for."""
LEAST_SESSIONS = 5
LEAST_NOTES = 20
"""So many sessions, or new notes, since the last one make another due."""
AGAIN = 3600.0
"""Seconds until one that came to nothing is tried again."""
LEASE = 300.0
"""Seconds for which the turn is had without a word."""
_WAIT = 5.0
_MOST_BYTES = 4096


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """``last``: when the level was last tidied up, ``tried``: when that was last begun (Unix time, 0 for
    never). ``holder`` has the turn ``until`` then."""

    last: float = 0.0
    tried: float = 0.0
    holder: str = ""
    until: float = 0.0

    def is_due(self, *, now: float, sessions: int, notes: int) -> bool:
        """Whether it is time, after so many ``sessions`` and new ``notes`` since the last."""
        is_time = now - self.last >= LEAST_PAUSE and now - self.tried >= AGAIN and not self.is_held(now)
        return is_time and (sessions >= LEAST_SESSIONS or notes >= LEAST_NOTES)

    def is_held(self, now: float) -> bool:
        """Whether some process is at it."""
        return bool(self.holder) and now < self.until


def read_turn(folder: Path, now: float) -> Turn:
    """What the file says. One that came with the folder, or was written by another clock, cannot say more
    than that somebody was there a moment ago. Never raises."""
    try:
        descriptor = os.open(folder / TURN, os.O_RDONLY | CAREFUL)
        with open(descriptor, "rb") as stream:
            turn = msgspec.json.decode(stream.read(_MOST_BYTES), type=Turn)
    except (OSError, msgspec.MsgspecError, UnicodeError):  # there was none yet
        return Turn()
    return msgspec.structs.replace(
        turn,
        last=known_time(min(turn.last, now)),
        tried=known_time(min(turn.tried, now)),
        until=min(turn.until, now + LEASE),
    )


def take_turn(folder: Path, holder: str, now: float) -> bool:
    """Whether the turn was to be had; or had already, then for longer. Raises NoteError."""

    def taken(turn: Turn) -> Turn | None:
        if turn.is_held(now) and turn.holder != holder:
            return None
        return msgspec.structs.replace(turn, tried=now, holder=holder, until=now + LEASE)

    return _change(folder, now, taken)


def end_turn(folder: Path, holder: str, now: float, *, done: bool) -> None:
    """Gives the turn to the next. ``done``: the level was tidied up. Raises NoteError."""

    def ended(turn: Turn) -> Turn | None:
        last = now if done else turn.last
        if turn.holder not in (holder, ""):  # another took it over
            return msgspec.structs.replace(turn, last=last) if done else None
        return Turn(last, 0.0 if done else turn.tried)

    _change(folder, now, ended)


def _change(folder: Path, now: float, made: Callable[[Turn], Turn | None]) -> bool:
    try:
        with locked(folder, _WAIT):
            turn = made(read_turn(folder, now))
            if turn is None:
                return False
            write_atomic(folder / TURN, msgspec.json.encode(turn) + b"\n", durable=False)
    except OSError as error:
        raise refused(folder, error) from error
    return True
