"""One line of ``conversation.jsonl``: a message or a control record. Pure: no file, no clock.

A message has no ``type``: ``{"id", "parent", "role", "content", "tool_calls", "tool_results", "ts", "model",
"origin", "usage", "provider_meta"}``, the last six where they say something. ``model`` stands on the first
message and where it changes. Control records:

    {"type": "session", "id", "version": 1, "ts", "cwd", "mode", "provider", "model", "mewcode"}
                                                      what was started, first in a file
    {"type": "state", "ts", "mode"?, "model"?, "provider"?}
                                                      a change in mid-session
    {"type": "usage", "ts", "models": {model: tokens}, "cost_usd", "turns"?}
                                                      the totals of all that stands before it; "carried": true
                                                      where another session had used them
    {"type": "title", "ts", "title"}                  the user's name for the session; "" takes it back
    {"type": "pin", "ts", "pinned"}                   true or false
    {"type": "tag", "ts", "add"?, "remove"?}          lists of tags
    {"type": "brief", "ts", "text", "by"}             what was done in the session; "by": a model's name or ""
    {"type": "compact", "id", "parent", "ts", "mode", "provider", "model", "turns", "usage", "messages"?}
                                                      the conversation begins anew behind it: messages of
                                                      before that are taken along are copies with "of".
                                                      "messages": so many belong to it; with fewer it was
                                                      broken off, and the conversation is that of before
    {"type": "rewind", "id", "ts", "to", "from"}      goes back: the next message follows the one named by
                                                      "to" (null: none). "from": the last one until then
    {"type": "reads", "ts", "files": {path: state}}   what the model has read since the last such record
    {"type": "prune", "ts", "replaced": {id: text}}   from now on the model sees these lines in place of what
                                                      the tool results in the messages of these ids say
    {"type": "noted", "ts", "upto", "left"?}          what leads to the message "upto" (null: nothing yet) was
                                                      looked through for notes. "left": so many of the user's
                                                      messages were not when the session was left

A fork's ``session`` record says what it continues: "parent_session", the "message" at which it left that one
(null: none is kept), and "bases", a list of {"file", "bytes"}: the first bytes of files in the fork's own
folder, each a hard link to (or a copy of) an older session's file, the oldest first.

An imported ``session`` record bears "imported": {"from", "id", "ts"}: the program that it comes from, what
that called it, and when it was imported.

Titles, pins, tags, briefs and what was noted are labels. Any process adds them, also while another one writes
the session; they are no activity of the session, so its age is that of the other records. A title with
"auto": true was made by a model, and stands behind the user's own. To look through what a fork continues is
its forerunner's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from mewcode._version import __version__
from mewcode.core.codec import clean_value, decode_json, encode_json
from mewcode.core.message import Message, Usage
from mewcode.sessions.plain import number, read_plain, read_usage
from mewcode.sessions.wire import WireMessage, from_wire, safe_call_id, to_wire

__all__ = [
    "CONTROL_TYPES",
    "FORMAT_VERSION",
    "LABEL_TYPES",
    "UNKNOWN_TYPE",
    "Base",
    "Fork",
    "Totals",
    "WireMessage",
    "brief_record",
    "compact_record",
    "decode_line",
    "decode_strict",
    "decode_value",
    "encode_message",
    "encode_record",
    "from_wire",
    "noted_record",
    "pin_record",
    "prune_record",
    "reads_record",
    "reads_records",
    "rewind_record",
    "safe_call_id",
    "session_record",
    "state_record",
    "tag_record",
    "title_record",
    "totals_of",
    "usage_record",
]

FORMAT_VERSION = 1
UNKNOWN_TYPE = "a record of an unknown type"
"""Why `decode_line` refuses what may be the record of a later version."""
LABEL_TYPES = frozenset({"title", "pin", "tag", "brief", "noted"})
CONTROL_TYPES = frozenset({"session", "state", "usage", "compact", "rewind", "reads", "prune"}) | LABEL_TYPES

_READS_OF_A_RECORD = 200


@cache
def _decoder() -> msgspec.json.Decoder[WireMessage]:
    """Made when a file is first read: to write needs none, and it takes about a millisecond."""
    return msgspec.json.Decoder(WireMessage)


class Totals(msgspec.Struct, frozen=True):
    """What a session has used: tokens by model, and the cost in US dollars (None: a price is unknown)."""

    models: dict[str, Usage] = {}
    cost_usd: float | None = 0.0


class Base(msgspec.Struct, frozen=True):
    """The first ``bytes`` of ``file``, a name in the session's own folder."""

    file: str
    bytes: int


class Fork(msgspec.Struct, frozen=True):
    """What a fork continues; see the module's docstring."""

    parent_session: str
    message: str | None
    bases: list[Base]


def encode_message(
    message: Message,
    *,
    ts: float,
    parent: str | msgspec.UnsetType | None = msgspec.UNSET,
    model: str | None = None,
    of: str = "",
) -> bytes:
    """The line of a message, with its ``\\n``. ``model`` is written where it is not None. ``of``: the message
    that this one is a copy of.

    Never fails: lone surrogates become U+FFFD, NaN null, and arguments that JSON cannot hold their text.
    """
    wire = to_wire(message)
    wire.ts = ts
    wire.parent = parent
    wire.of = of
    if model is not None:
        wire.model = model
    return _line(wire)


def encode_record(record: dict[str, Any]) -> bytes:
    """The line of a control record, with its ``\\n``. Never fails, as `encode_message`."""
    return _line(record)


def _line(value: WireMessage | dict[str, Any]) -> bytes:
    try:
        return encode_json(value) + b"\n"
    except (TypeError, ValueError, RecursionError, OverflowError):
        return encode_json(_writable(value, 40)) + b"\n"


def _writable(value: Any, depth: int) -> Any:
    """A value that JSON can hold: what it cannot, or what is nested deeper than ``depth``, as its text."""
    if isinstance(value, msgspec.Struct):
        named = {name: getattr(value, name) for name in value.__struct_fields__}
        tag = value.__struct_config__.tag
        return _writable({"type": tag, **named} if tag else named, depth)
    if isinstance(value, dict) and depth:
        kept = {str(key): item for key, item in value.items() if item is not msgspec.UNSET}
        return clean_value({key: _writable(item, depth - 1) for key, item in kept.items()})
    if isinstance(value, list | tuple) and depth:
        return [_writable(item, depth - 1) for item in value]
    if isinstance(value, str | int | float | None):
        return clean_value(value)
    return "(nested too deeply)" if isinstance(value, dict | list | tuple) else clean_value(str(value))


def decode_line(line: bytes) -> WireMessage | dict[str, Any] | str:
    """A message (see `from_wire`), a control record of a known type, or the reason why the line is neither.

    Never raises.
    """
    try:
        wire = _decoder().decode(line)
    except (ValueError, RecursionError):
        return _decode_slowly(line)
    return wire if wire.type is None else _decode_slowly(line)


def _decode_slowly(line: bytes) -> WireMessage | dict[str, Any] | str:
    try:
        value = decode_json(line)
    except UnicodeError:
        return "not UTF-8"
    except ValueError as error:
        return "nested too deeply" if isinstance(error.__cause__, RecursionError) else "not JSON"
    return decode_value(value)


def decode_strict(data: bytes | memoryview) -> WireMessage | dict[str, Any] | None:
    """As `decode_line` for a piece of a broken line: None where it is not, from end to end, a record."""
    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None
    record = decode_value(value)
    return None if isinstance(record, str) else record


def decode_value(value: Any) -> WireMessage | dict[str, Any] | str:
    """As `decode_line`, for a JSON value of any kind."""
    if not isinstance(value, dict):
        return "not an object"
    kind = value.get("type")
    if kind is None:
        try:
            return read_plain(value)
        except RecursionError:
            return "nested too deeply"
    if isinstance(kind, str) and kind in CONTROL_TYPES:
        return value
    return UNKNOWN_TYPE


def session_record(
    session_id: str,
    *,
    ts: float,
    cwd: str,
    mode: str,
    provider: str,
    model: str,
    seal: str = "",
    branch: str = "",
    fork: Fork | None = None,
    imported: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The first record of a file. ``branch``: of git, where it was started. ``imported``: where it comes
    from."""
    record = {
        "type": "session",
        "id": session_id,
        "version": FORMAT_VERSION,
        "ts": ts,
        "cwd": cwd,
        "mode": mode,
        "provider": provider,
        "model": model,
        "mewcode": __version__,
    }
    more = (("seal", seal), ("branch", branch), ("imported", imported))
    record |= {name: value for name, value in more if value}
    return record if fork is None else record | msgspec.to_builtins(fork)


def state_record(*, ts: float, mode: str = "", model: str = "", provider: str = "") -> dict[str, Any]:
    """A change of what is named; what is empty stays as it was."""
    changes = {"mode": mode, "model": model, "provider": provider}
    return {"type": "state", "ts": ts, **{name: value for name, value in changes.items() if value}}


def usage_record(totals: Totals, *, ts: float, turns: int = 0) -> dict[str, Any]:
    """The totals of the session so far, all records before this one included. ``turns``: the user's messages
    so far, 0 where they are not known."""
    models = {name: msgspec.to_builtins(usage) for name, usage in totals.models.items()}
    record = {"type": "usage", "ts": ts, "models": models, "cost_usd": totals.cost_usd}
    return record | {"turns": turns} if turns else record


def title_record(title: str, *, ts: float, auto: bool = False) -> dict[str, Any]:
    """The user's name for the session, or with ``auto`` a model's; an empty one takes it back."""
    record: dict[str, Any] = {"type": "title", "ts": ts, "title": title}
    return record | {"auto": True} if auto else record


def brief_record(text: str, *, ts: float, by: str = "") -> dict[str, Any]:
    """What was done in the session. ``by``: the model that wrote it, empty where it was put together from
    what the session did."""
    return {"type": "brief", "ts": ts, "text": text, "by": by}


def noted_record(upto: str | None, *, ts: float, left: int = 0) -> dict[str, Any]:
    """What leads to the message ``upto`` was looked through for notes, and what came of it is kept. ``left``:
    so many of the user's messages wait for the next start."""
    record: dict[str, Any] = {"type": "noted", "ts": ts, "upto": upto}
    return record | {"left": left} if left else record


def compact_record(
    record_id: str,
    *,
    ts: float,
    parent: str | None,
    about: dict[str, str],
    turns: int,
    totals: Totals,
    messages: int = 0,
) -> dict[str, Any]:
    """The marker of a compaction: all that a reader who begins here needs of what stands before. ``about``:
    mode, provider and model; ``turns``: the user's messages so far; ``totals``: as in a usage record;
    ``messages``: how many make up the compacted history, the first of them with the marker as its parent,
    each other with the one before it."""
    known = {name: about.get(name, "") for name in ("mode", "provider", "model")}
    usage = {
        key: value for key, value in usage_record(totals, ts=ts).items() if key in ("models", "cost_usd")
    }
    return {
        "type": "compact",
        "id": record_id,
        "parent": parent,
        "ts": ts,
        **known,
        "turns": turns,
        "usage": usage,
        "messages": messages,
    }


def rewind_record(record_id: str, *, ts: float, to: str | None, before: str | None) -> dict[str, Any]:
    """Back to the message ``to`` (None: the start); ``before``: the last message until now."""
    return {"type": "rewind", "id": record_id, "ts": ts, "to": to, "from": before}


def reads_record(files: dict[str, dict[str, Any]], *, ts: float) -> dict[str, Any]:
    """The states of files as the model has read them, by resolved path: see `ReadTable.export`."""
    return {"type": "reads", "ts": ts, "files": files}


def reads_records(files: dict[str, dict[str, Any]], *, ts: float) -> Iterator[dict[str, Any]]:
    """As many records as it takes for none to be long."""
    entries = list(files.items())
    for place in range(0, len(entries), _READS_OF_A_RECORD):
        yield reads_record(dict(entries[place : place + _READS_OF_A_RECORD]), ts=ts)


def prune_record(replaced: dict[str, str], *, ts: float) -> dict[str, Any]:
    """``replaced``: by the ids of messages, what stands there for their tool results (see `pruned`)."""
    return {"type": "prune", "ts": ts, "replaced": replaced}


def pin_record(pinned: bool, *, ts: float) -> dict[str, Any]:
    """Whether the session is kept whatever its age."""
    return {"type": "pin", "ts": ts, "pinned": pinned}


def tag_record(*, ts: float, add: Sequence[str] = (), remove: Sequence[str] = ()) -> dict[str, Any]:
    """Tags that the session gets and loses."""
    changes = {"add": list(add), "remove": list(remove)}
    return {"type": "tag", "ts": ts, **{name: tags for name, tags in changes.items() if tags}}


def totals_of(record: dict[str, Any]) -> Totals:
    """The totals of a ``usage`` record, as far as they make sense."""
    models = record.get("models")
    counts = models.items() if isinstance(models, dict) else ()
    read = {str(name): usage for name, value in counts if (usage := read_usage(value)) is not None}
    cost = record.get("cost_usd")
    return Totals(read, None if cost is None else number(cost))
