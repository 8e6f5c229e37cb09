"""A record of a session that something else rests on, found again: the line it is, and what it says."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.record import WireMessage, decode_line, from_wire
from mewcode.sessions.record_files import RecordFiles
from mewcode.sessions.transcript import message_text

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Cited(msgspec.Struct, frozen=True):
    """``line``: its number in ``file``, from 1: `CONVERSATION`, or the name of a file in the session's folder
    that a fork continues. ``ts``: Unix time, 0 where unknown. ``text``: all that it says."""

    line: int
    text: str
    ts: float = 0.0
    file: str = CONVERSATION


def is_id(text: str) -> bool:
    """Whether this can be the id of a session or a record: nothing else may become part of a path."""
    return _ID.fullmatch(text) is not None


def find_cited(folder: Path, record: str) -> Cited | None:
    """The message of that id, else the one that makes the tool call of that id; None where there is neither.
    Looks at the lines that hold the id only. Raises OSError."""
    if not is_id(record):
        return None
    found: tuple[int, WireMessage] | None = None
    with RecordFiles.open(folder) as files:
        for place, line in files.lines_with(f'"{record}"'.encode(), files.end, 0):
            wire = decode_line(line)
            # The last that is found is the first in the files: others say which one they follow.
            if isinstance(wire, WireMessage) and _is(wire, record):
                found = (place, wire)
        if found is None:
            return None
        place, wire = found
        part = next(part for part in files.parts if place < part.end)
        before = part.count([b"\n"], part.start, place)[0] if place > part.start else 0
        file = CONVERSATION if part is files.own else part.name
    return Cited(before + 1, message_text(from_wire(wire)), _number(wire.ts), file)


def _is(wire: WireMessage, record: str) -> bool:
    if wire.id == record:
        return True
    return any(call.id == record for call in from_wire(wire).tool_calls)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
