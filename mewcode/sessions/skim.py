"""Looks over a message's record without taking in what it says. Pure."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from mewcode.core.message import Message, Origin, Role, Text, ToolResult, Usage
from mewcode.sessions.record import WireMessage, decode_line
from mewcode.sessions.wire import safe_call_id


class Skimmed(msgspec.Struct, kw_only=True):
    """What of a message record says where it belongs."""

    type: str | None = None
    id: str = ""
    parent: str | msgspec.UnsetType | None = msgspec.UNSET
    role: Role
    content: msgspec.Raw
    ts: float = 0.0
    model: str | msgspec.UnsetType = msgspec.UNSET
    origin: Origin | msgspec.UnsetType = msgspec.UNSET
    usage: Usage | None = None
    of: str = ""


class _SkimmedResult(msgspec.Struct):
    tool_use_id: str
    content: msgspec.Raw
    is_error: bool = False


class _WithResult(msgspec.Struct):
    role: Role
    tool_results: list[_SkimmedResult]


@cache
def _skimmer() -> msgspec.json.Decoder[Skimmed]:
    return msgspec.json.Decoder(Skimmed)


def skim(line: bytes) -> Skimmed | WireMessage | dict[str, Any] | str:
    """As `decode_line`, which reads what is not a message in our own form. Never raises.

    A message whose content makes no sense may pass here and be refused there.
    """
    if line.startswith(b'{"type"'):
        return decode_line(line)
    try:
        skimmed = _skimmer().decode(line)
    except (ValueError, RecursionError):
        return decode_line(line)
    return skimmed if skimmed.type is None else decode_line(line)


def is_taken_along(record: Skimmed | WireMessage) -> bool:
    """Whether it is a copy or a summary, which a compaction writes behind its marker."""
    return bool(record.of) or record.origin == "compaction"


def without_result(line: bytes) -> Message | None:
    """The message of a tool's result with a word in place of the result, which is not decoded; None where
    the line is none."""
    try:
        found = msgspec.json.decode(line, type=_WithResult)
    except (ValueError, RecursionError):
        return None
    if found.role != "tool" or len(found.tool_results) != 1:
        return None
    result = found.tool_results[0]
    said = f"[This result of {len(line) / 1e6:.0f} MB was left out: it is larger than what any model takes.]"
    content = (ToolResult(safe_call_id(result.tool_use_id), (Text(said),), result.is_error),)
    return Message("", "tool", content, "tool")
