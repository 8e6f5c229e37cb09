"""Joins the engine of recall with the archive of this workspace. Loaded only where the index is brought up
to date as a whole, not for a question."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from mewcode.core.errors import SessionError
from mewcode.memory.recall.engine import Engine
from mewcode.memory.recall.values import Reading, Turn
from mewcode.sessions.briefs import IsOurs
from mewcode.sessions.catalog_fold import IndexedMessage, SessionState, fold_line, records_in
from mewcode.sessions.catalog_glance import lines_in, open_conversation
from mewcode.sessions.find import scan_sessions
from mewcode.sessions.reader import read_seal

_MOST_OF_ROLE = {"user": 4_000, "assistant": 2_000, "tool": 300}
"""Characters of a message that a turn is found by. A result's beginning says whether it failed, and how."""
_MOST_OF_TURN = 12_000
_STEP_BYTES = 2 << 20
"""Bytes of a file that are read at once, and the rest of the turn that they end in."""
_BEFORE = 64
"""Bytes in front of the place reached that must still read the same."""


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a reading of a session goes on: where the last turn begins, which may have grown. ``rows``: turns
    before it; the rest is what a `SessionState` knew there."""

    inode: int = 0
    cursor: int = 0
    before: bytes = b""
    rows: int = 0
    lines: int = 0
    turns: int = 0
    carried_turns: int = 0


def refresh_sessions(
    engine: Engine,
    sessions_dir: Path,
    stop: Callable[[], bool] | None = None,
    is_ours: IsOurs | None = None,
) -> bool:
    """Brings the turns of the sessions up to date, the newest first; whether all are known. For the
    background. Those that ``is_ours`` refuses are not found; None where all may be read."""
    newest_first = sorted(scan_sessions(sessions_dir), key=lambda item: (item[0], item[2].name), reverse=True)
    signs = {
        path.name: f"{size} {mtime!r}"
        for mtime, size, path in newest_first
        if is_ours is None or may_read(path, is_ours)
    }
    return engine.update_exchanges(signs, lambda name, state: read_turns(sessions_dir / name, state), stop)


def may_read(folder: Path, is_ours: IsOurs) -> bool:
    """Whether a session is the user's own, or came with a folder that they trust."""
    if is_ours(folder.name, ""):  # so in a folder that is trusted, whatever the session says
        return True
    try:
        return is_ours(folder.name, read_seal(folder))
    except SessionError:  # gone or locked away meanwhile
        return False


def read_turns(folder: Path, state: bytes) -> Reading | None:
    """The turns of a session from where ``state`` says; None where it cannot be read."""
    try:
        with open_conversation(folder) as stream:
            inode = os.fstat(stream.fileno()).st_ino
            place = _place(state)
            stream.seek(max(0, place.cursor - _BEFORE))
            if place.inode != inode or stream.read(min(place.cursor, _BEFORE)) != place.before:
                place = _Place(inode)
                stream.seek(0)
            folding = _Folding(place)
            is_all = True
            for line, length in lines_in(stream):
                if not line.endswith(b"\n") and records_in(line, is_first=not folding.state.lines)[1]:
                    break  # half a line: the rest may come
                folding.add(line, length)
                if folding.place.cursor - place.cursor >= _STEP_BYTES:
                    is_all = False
                    break
            if is_all:
                folding.end_turn()
            stream.seek(max(0, folding.place.cursor - _BEFORE))
            before = stream.read(min(folding.place.cursor, _BEFORE))
    except OSError:  # deleted or locked away meanwhile
        return None
    reached = msgspec.structs.replace(folding.place, before=before)
    return Reading(tuple(folding.done), place.rows, msgspec.msgpack.encode(reached), is_all)


def _place(state: bytes) -> _Place:
    try:
        return msgspec.msgpack.decode(state, type=_Place) if state else _Place()
    except msgspec.MsgspecError:  # of a damaged index: read anew
        return _Place()


class _Folding:
    """Makes turns of the lines of a session. ``place`` is where the turn begins that is being read."""

    def __init__(self, place: _Place) -> None:
        self.place = place
        self.state = SessionState(lines=place.lines, turns=place.turns, carried_turns=place.carried_turns)
        self.done: list[Turn] = []
        self._cursor = place.cursor
        self._first = place.rows
        self._number: int | None = None
        self._said: list[str] = []
        self._when = 0.0
        self._keys: set[int] = set()

    def add(self, line: bytes, length: int) -> None:
        before = msgspec.structs.replace(
            self.place,
            cursor=self._cursor,
            lines=self.state.lines,
            turns=self.state.turns,
            carried_turns=self.state.carried_turns,
        )
        for message in fold_line(self.state, line, lambda key: not key or key not in self._keys):
            if message.turn != self._number:
                self.end_turn()
                self.place = msgspec.structs.replace(before, rows=self._first + len(self.done))
                self._begin_turn(message)
            self._keys.add(message.key)
            if message.text:
                self._said.append(message.text[: _MOST_OF_ROLE.get(message.role, 0)])
        self._cursor += length

    def end_turn(self) -> None:
        text = "\n".join(self._said)[:_MOST_OF_TURN].strip()
        if text and self._number is not None:
            self.done.append(Turn(self._number, text, self.place.cursor, self._when))

    def _begin_turn(self, message: IndexedMessage) -> None:
        self._number, self._when = message.turn, message.ts
        self._said, self._keys = [], set()
