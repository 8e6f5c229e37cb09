"""Our own sessions: what `export_json` writes, and the file of a session itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mewcode.core.errors import SessionError
from mewcode.sessions.export_json import FORMAT, VERSION
from mewcode.sessions.import_blocks import text_in
from mewcode.sessions.import_source import Event, Kept, Lines, Original
from mewcode.sessions.plain import number
from mewcode.sessions.record import LABEL_TYPES, UNKNOWN_TYPE, decode_value, encode_record, state_record

_MODE = "default"
_ASKING = (_MODE, "plan", "dont-ask")
"""Modes in which nothing is changed unasked."""


class _Export(msgspec.Struct):
    """The document; its records stay text until each is looked at."""

    format: str = ""
    version: int = 0
    id: str = ""
    records: list[msgspec.Raw] = []


def read_export(data: bytes) -> Original:
    """A session from the JSON that `export_json.as_json` wrote. Raises SessionError where it is none, or of a
    later version."""
    try:
        found = msgspec.json.decode(data, type=_Export)
    except (ValueError, RecursionError) as error:
        raise SessionError(f"The export is damaged: {error}") from error
    if found.format != FORMAT or found.version > VERSION:
        raise SessionError("The export is of a later version of MewCode.")
    original = read_records(Lines(lambda: map(bytes, found.records)))
    original.id = found.id or original.id
    return original


def read_records(lines: Lines) -> Original:
    """A session from its records, a line each. Raises what reading the lines does, and SessionError for a
    fork's file, which is not whole without others."""
    found = Original("mewcode", lambda: iter(()))
    bad, is_known = 0, False
    for _, value in lines.values():
        kind = value.get("type")
        if kind == "session" and not is_known:
            is_known = True
            value = _asking(value)
            if value.get("bases"):
                raise SessionError(
                    "A fork's file alone is not the whole session.",
                    "Where it lies: mewcode sessions export ID --format json --with-secrets",
                )
            _learn(found, value)
        bad += _is_bad(value)
        found.began = found.began or number(value.get("ts"))
    found.skipped = lines.skipped + bad
    found.events = _events_of(lines)
    return found


def _learn(found: Original, session: dict[str, Any]) -> None:
    for name in ("id", "cwd", "branch", "mode", "provider", "model"):
        setattr(found, name, text_in(session, name))


def _asking(value: dict[str, Any]) -> dict[str, Any]:
    """The record with a mode that asks in place of one that does not: a file may come from anyone, and what
    is done without being asked is the user's to say."""
    mode = value.get("mode")
    is_record = isinstance(value.get("type"), str)
    return value | {"mode": _MODE} if is_record and mode and mode not in _ASKING else value


def _is_bad(value: dict[str, Any]) -> bool:
    read = decode_value(value)
    return isinstance(read, str) and read != UNKNOWN_TYPE


def _events_of(lines: Lines) -> Callable[[], Iterator[Event]]:
    def events() -> Iterator[Event]:
        is_first = True
        for _, found in lines.values():
            if _is_bad(found):
                continue
            value = _asking(found)
            if value.get("type") == "session":
                if not is_first:  # the file was made anew in mid-session
                    changed = {name: text_in(value, name) for name in ("mode", "model", "provider")}
                    ts = number(value.get("ts"))
                    yield Kept(encode_record(state_record(ts=ts, **changed)), False, ts)
                is_first = False
            else:
                kind = value.get("type")
                is_label = isinstance(kind, str) and kind in LABEL_TYPES
                ts = 0.0 if is_label else number(value.get("ts"))
                yield Kept(encode_record(value), kind is None, ts)

    return events


def is_export(head: bytes) -> bool:
    """Whether a file begins as an export does."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text.startswith(b"{"):
        return False
    first = text[1:].lstrip()
    return first.startswith(b'"format"') and b'"mewcode-session"' in first[:200]
