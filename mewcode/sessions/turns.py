"""The turns of a session as they stand in its file, each under the number that recall gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from mewcode.core.message import Message
from mewcode.sessions.catalog_fold import SessionState, fold_line, records_in
from mewcode.sessions.catalog_glance import lines_in, open_conversation
from mewcode.sessions.record import WireMessage, from_wire

_NO_TALK = ("reminder", "recall", "compaction")
"""Origins of what the program has said, and of what stands for older messages."""


class Turn(msgspec.Struct, frozen=True):
    """A user's message and what came of it. ``when``: Unix time, 0 where it is not known."""

    number: int
    messages: tuple[Message, ...]
    when: float = 0.0


class TurnsFound(msgspec.Struct, frozen=True):
    """``turn``: None where the file has none of that number; ``first``: the number of the first that it has,
    0 where it has none; ``has_next``: another one follows."""

    turn: Turn | None
    first: int
    has_next: bool = False


def find_turn(folder: Path, number: int, stop: Callable[[], bool] | None = None) -> TurnsFound:
    """The turn of that number. Reads the file up to the end of the turn, or until ``stop()`` is true. Raises
    OSError."""
    with open_conversation(folder) as stream:
        state = SessionState()
        keys: set[int] = set()
        first, current, when = 0, 0, 0.0
        messages: list[Message] = []
        for line, _ in lines_in(stream):
            is_first = state.lines == 0
            for found in fold_line(state, line, lambda key: not key or key not in keys):
                if found.turn != current:  # a record that was written twice is looked for within its turn
                    keys.clear()
                    if current == number and messages:
                        return TurnsFound(Turn(number, tuple(messages), when), first, has_next=True)
                    current, when = found.turn, found.ts
                    first = first or current
                keys.add(found.key)
                if current == number:
                    messages += _spoken(line, is_first=is_first, key=found.id)
            if stop is not None and stop():
                break
    turn = Turn(number, tuple(messages), when) if messages else None
    return TurnsFound(turn, first)


def turn_at(folder: Path, start: int, most: int) -> tuple[Message, ...]:
    """The messages of the turn whose first record begins at byte ``start``, as far as they stand in the next
    ``most`` bytes. Empty where no turn begins there. Raises OSError."""
    messages: list[Message] = []
    with open_conversation(folder) as stream:
        stream.seek(max(0, start - 1))
        if start and stream.read(1) != b"\n":
            return ()
        left = most
        for line, length in lines_in(stream):
            spoken = list(_spoken(line, is_first=not start and left == most))
            if any(message.role == "user" for message in spoken) and messages:
                break
            if not messages and spoken and spoken[0].role != "user":
                break
            messages += spoken
            left -= length
            if left <= 0:
                break
    return tuple(messages)


def _spoken(line: bytes, *, is_first: bool, key: str = "") -> Iterator[Message]:
    """What was said in a line; with ``key`` the message of that id alone."""
    for record in records_in(line, is_first=is_first)[0]:
        if isinstance(record, WireMessage) and not record.of and (not key or record.id == key):
            message = from_wire(record)
            if message.origin not in _NO_TALK:
                yield message
