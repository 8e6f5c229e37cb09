"""Finds the whole records within a line that is none. Pure."""

from __future__ import annotations

from typing import Any

from mewcode.sessions.record import WireMessage, decode_strict

UNPARSABLE = frozenset({"not JSON", "not UTF-8"})
"""Why `decode_line` refuses a line that may still end in a whole record."""
_TRIES = 10_000
"""Objects within a broken line that are looked at; more are made on purpose only."""


def salvage(line: bytes) -> tuple[list[WireMessage | dict[str, Any]], bool]:
    """The complete records at the end of a line that is none, first to last, and whether a piece is left."""
    pieces, is_lost = salvage_pieces(line)
    return [record for _, record in pieces], is_lost


def salvage_pieces(line: bytes) -> tuple[list[tuple[bytes, WireMessage | dict[str, Any]]], bool]:
    """As `salvage`, each record with its bytes; those stand one behind the other up to the line's end.

    A write that was torn off has the next record right behind it. Only a whole record can reach to the end
    of the line, so objects within one are never taken for it, and each try but the right one ends early.
    """
    view = memoryview(line.rstrip(b"\r\n"))
    found: list[tuple[bytes, WireMessage | dict[str, Any]]] = []
    end = len(view)
    start = line.rfind(b'{"', 0, end)
    tries = 0
    while start >= 0 and tries < _TRIES:
        tries += 1
        record = decode_strict(view[start:end])
        if record is not None:
            found.append((bytes(view[start:end]), record))
            end = start
        start = line.rfind(b'{"', 0, start)
    return found[::-1], bool(line[:end].strip())
