"""Reads a session back: every message that can be read, whatever else the file holds."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from mewcode.core.errors import SessionError
from mewcode.core.message import Message, Usage
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.plain import number
from mewcode.sessions.record import (
    LABEL_TYPES,
    Totals,
    WireMessage,
    decode_line,
    decode_strict,
    from_wire,
    totals_of,
)

_DAMAGE_NAMED = 20
"""So many pieces of damage are described; the others are only counted."""
_BUFFER = 1 << 20
_SALVAGE_TRIES = 10_000
"""Objects within a broken line that are looked at; more are made on purpose only."""


class LoadedSession(msgspec.Struct, frozen=True):
    """``messages``: the conversation that leads to the last message in the file, first to last.

    ``mode``, ``provider``, ``cwd``: as last recorded, empty where unknown; ``model``: the last one named.
    ``totals``: the last usage record, plus what the messages behind it used (in tokens; its cost stays).
    ``skipped``: lines or pieces of lines that were left out. ``salvaged``: records found at the end of a
    broken line. ``damage``: what was skipped or repaired, in words. ``last_ts``: Unix time of the last
    record that has one, else 0. ``last_id``: what the next message follows. ``seal``: the mark of the
    session record that names this session, empty where there is none.
    """

    id: str
    messages: tuple[Message, ...]
    mode: str
    model: str
    provider: str
    cwd: str
    totals: Totals
    skipped: int
    salvaged: int
    damage: list[str]
    last_ts: float
    last_id: str | None
    seal: str = ""


def load_session(folder: Path) -> LoadedSession:
    """Loads ``<folder>/conversation.jsonl``; raises SessionError where the file cannot be opened or read.

    Lines end at ``\\n`` only. A line that is no record is skipped and counted; complete records at its end
    are salvaged. A parent that is not an earlier record is taken to be the message before, so there are no
    cycles; a file that names no parent is one line of messages. A repeated record is left out; another
    message under an id already used gets an id of its own, and later records that name the id mean it.
    """
    path = folder / CONVERSATION
    reading = _Reading()
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb", buffering=_BUFFER) as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SessionError(f"{path} is no file.")
            with _without_collection():
                for line in stream:
                    reading.take(line)
    except OSError as error:
        raise SessionError(
            f"Session {folder.name} cannot be read: {error.strerror or error} ({path})"
        ) from error
    return reading.finish(folder.name)


@contextmanager
def _without_collection() -> Iterator[None]:
    """The cycle collector paused: reading makes no cycles but many objects, and to look through all of them
    again and again takes a third of the time."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


class _Reading:
    """The state of one pass over a file."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.parents: list[int] = []  # the place of each message's parent, -1 for none
        self.by_id: dict[str, int] = {}
        self.names_parents = False
        self.lines = 0
        self.skipped = 0
        self.salvaged = 0
        self.damages = 0
        self.damage: list[str] = []
        self.about: dict[str, str] = {}
        self.seals: dict[str, str] = {}
        self.model = ""  # what an assistant's record without a model inherits
        self.totals = Totals()
        self.used: dict[str, Usage] = {}  # since the last usage record
        self.last_ts = 0.0

    def take(self, line: bytes) -> None:
        self.lines += 1
        record = decode_line(line)
        if isinstance(record, WireMessage):
            self._message(record)
        elif isinstance(record, dict):
            self._control(record)
        elif line.strip():
            self._broken(line, record)

    def _broken(self, line: bytes, reason: str) -> None:
        if self.lines == 1 and line.startswith(b"\xef\xbb\xbf"):
            self.lines = 0
            self.take(line[3:])
            return
        records, lost = ([], True) if reason not in UNPARSABLE else salvage(line)
        self.salvaged += len(records)
        if lost:
            self.skipped += 1
        self._note(
            f"{reason}; {len(records)} records saved from its end" if records else f"{reason}: skipped"
        )
        for record in records:
            if isinstance(record, WireMessage):
                self._message(record)
            else:
                self._control(record)

    def _note(self, what: str) -> None:
        self.damages += 1
        if len(self.damage) < _DAMAGE_NAMED:
            self.damage.append(f"line {self.lines}: {what}")

    def _message(self, wire: WireMessage) -> None:
        place = len(self.messages)
        if type(wire.model) is str:
            self.model = wire.model
            self.about["model"] = wire.model or self.about.get("model", "")
        parent = self._place_of(wire.parent)
        known = self.by_id.get(wire.id) if wire.id else None
        if not wire.id:
            wire.id = self._own_id(place)
        message = from_wire(wire, self.model)
        if known is not None:
            if _same(self.messages[known], message):
                self.skipped += 1
                self._note("a repeated record: skipped")
                return
            message = msgspec.structs.replace(message, id=self._own_id(place))
            self._note("an id that was already used: changed")
            self.by_id[message.id] = place
        self.by_id[wire.id] = place
        self.messages.append(message)
        self.parents.append(parent)
        self.last_ts = wire.ts or self.last_ts
        if wire.usage is not None:
            name = message.model or self.model
            self.used[name] = self.used.get(name, Usage()) + wire.usage

    def _own_id(self, place: int) -> str:
        """An id for a message that has none: the same each time, since files only grow."""
        own = f"message-{place + 1}"
        while own in self.by_id:
            own += "x"
        return own

    def _place_of(self, parent: str | msgspec.UnsetType | None) -> int:
        """The place of the parent among the messages, -1 for none."""
        before = len(self.messages) - 1
        if parent is None:
            return -1
        if parent is msgspec.UNSET:
            return before
        self.names_parents = True
        place = self.by_id.get(parent, -1)
        if place < 0:
            self._note("a parent that is not there: taken to follow the message before")
            return before
        return place

    def _control(self, record: dict[str, Any]) -> None:
        if record["type"] in LABEL_TYPES:  # they say nothing about the conversation, nor when it was held
            return
        self.last_ts = number(record.get("ts")) or self.last_ts
        if record["type"] == "usage":
            self.totals = totals_of(record)
            self.used.clear()
            return
        for name in ("cwd", "mode", "provider", "model"):
            value = record.get(name)
            if isinstance(value, str) and value:
                self.about[name] = value
        if record["type"] == "session":
            self.model = self.about.get("model", "")
            self.seals[str(record.get("id"))] = str(record.get("seal") or "")

    def finish(self, session_id: str) -> LoadedSession:
        more = self.damages - len(self.damage)
        if more > 0:
            self.damage.append(f"and {more} more")
        return LoadedSession(
            id=session_id,
            messages=self._branch(),
            mode=self.about.get("mode", ""),
            model=self.about.get("model", ""),
            provider=self.about.get("provider", ""),
            cwd=self.about.get("cwd", ""),
            totals=self._all_used(),
            skipped=self.skipped,
            salvaged=self.salvaged,
            damage=self.damage,
            last_ts=self.last_ts,
            last_id=self.messages[-1].id if self.messages else None,
            seal=self.seals.get(session_id, ""),
        )

    def _branch(self) -> tuple[Message, ...]:
        """The messages from the start to the last one, along the parents."""
        if not self.names_parents or all(parent == place - 1 for place, parent in enumerate(self.parents)):
            return tuple(self.messages)
        chain: list[Message] = []
        place = len(self.messages) - 1
        while place >= 0:
            chain.append(self.messages[place])
            place = self.parents[place]
        return tuple(reversed(chain))

    def _all_used(self) -> Totals:
        if not self.used:
            return self.totals
        models = dict(self.totals.models)
        for name, usage in self.used.items():
            models[name] = models.get(name, Usage()) + usage
        return Totals(models, self.totals.cost_usd)


UNPARSABLE = frozenset({"not JSON", "not UTF-8"})


def _same(one: Message, other: Message) -> bool:
    return one.role == other.role and one.content == other.content


def salvage(line: bytes) -> tuple[list[WireMessage | dict[str, Any]], bool]:
    """The complete records at the end of a line that is none, first to last, and whether a piece is left."""
    pieces, is_lost = salvage_pieces(line)
    return [record for _, record in pieces], is_lost


def salvage_pieces(line: bytes) -> tuple[list[tuple[bytes, WireMessage | dict[str, Any]]], bool]:
    """As `salvage`, each record with its bytes.

    A write that was torn off has the next record right behind it. Only a whole record can reach to the end
    of the line, so objects within one are never taken for it, and each try but the right one ends early.
    """
    view = memoryview(line.rstrip(b"\r\n"))
    found: list[tuple[bytes, WireMessage | dict[str, Any]]] = []
    end = len(view)
    start = line.rfind(b'{"', 0, end)
    tries = 0
    while start >= 0 and tries < _SALVAGE_TRIES:
        tries += 1
        record = decode_strict(view[start:end])
        if record is not None:
            found.append((bytes(view[start:end]), record))
            end = start
        start = line.rfind(b'{"', 0, start)
    return found[::-1], bool(line[:end].strip())
