"""The shape of a message record, as msgspec reads and writes it, and its way to and from a `Message`.

Blocks of a message stand in three fields: results in ``tool_results``, calls in ``tool_calls``, all else in
``content``. Read back they come in that order: results, content, calls. A message whose blocks stand in
another order (thinking between calls) has place holders for its calls and results in ``content``.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from mewcode.core.message import (
    ContentBlock,
    Image,
    Message,
    Origin,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

_SAFE_ID = re.compile("[A-Za-z0-9_-]{1,64}")
_Item = TypeVar("_Item", ToolCall, ToolResult)

ORIGINS: dict[str, Origin] = {"user": "user", "assistant": "model", "tool": "tool"}
"""A role's usual origin, which is left out of the record."""


class WireCall(msgspec.Struct, omit_defaults=True, frozen=True):
    id: str
    name: str
    args: dict[str, Any]
    invalid: str = ""


class WireResult(msgspec.Struct, frozen=True):
    tool_use_id: str
    content: str | list[Text | Image]
    is_error: bool = False


class CallPlace(msgspec.Struct, tag="tool_call", frozen=True):
    """Where a call of ``tool_calls`` stands among the other blocks."""

    id: str


class ResultPlace(msgspec.Struct, tag="tool_result", frozen=True):
    """Where a result of ``tool_results`` stands among the other blocks."""

    tool_use_id: str


WireBlock = Text | Thinking | Image | CallPlace | ResultPlace


class WireMessage(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A message record. ``parent``: None is the start of a conversation; left out, the record before.
    ``of``: the record that this one is a copy of."""

    type: str | None = None
    id: str = ""
    parent: str | msgspec.UnsetType | None = msgspec.UNSET
    role: Role
    content: str | list[WireBlock]
    tool_calls: list[WireCall] = []
    tool_results: list[WireResult] = []
    ts: float = 0.0
    model: str | msgspec.UnsetType = msgspec.UNSET
    origin: Origin | msgspec.UnsetType = msgspec.UNSET
    usage: Usage | None = None
    provider_meta: dict[str, Any] = {}
    of: str = ""


def safe_call_id(raw: str) -> str:
    """The id itself where it is one of ours (``[A-Za-z0-9_-]{1,64}``), else always the same safe id for it.

    A file may come from anywhere, and a tool call's id becomes part of file names and requests. The other
    id is a hash, so that a call and its result still meet, also in another record or file.
    """
    if _SAFE_ID.fullmatch(raw):
        return raw
    import hashlib  # only for ids that are not ours

    return "x" + hashlib.blake2b(raw.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def to_wire(message: Message) -> WireMessage:
    """The record of a message, without what the file decides: ``parent``, ``ts`` and ``model``."""
    blocks: list[WireBlock] = []
    places: list[WireBlock] = []
    calls: list[WireCall] = []
    results: list[WireResult] = []
    order: list[int] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            calls.append(WireCall(block.id, block.name, block.args, block.invalid))
            places.append(CallPlace(block.id))
            order.append(2)
        elif isinstance(block, ToolResult):
            results.append(WireResult(block.call_id, _result_content(block.content), block.is_error))
            places.append(ResultPlace(block.call_id))
            order.append(0)
        else:
            blocks.append(block)
            places.append(block)
            order.append(1)
    if order != sorted(order):
        blocks = places
    content: str | list[WireBlock] = blocks
    if not blocks:
        content = ""
    elif len(blocks) == 1 and isinstance(blocks[0], Text) and blocks[0].text:
        content = blocks[0].text
    return WireMessage(
        id=message.id,
        role=message.role,
        content=content,
        tool_calls=calls,
        tool_results=results,
        origin=msgspec.UNSET if message.origin == ORIGINS[message.role] else message.origin,
        usage=message.usage,
        provider_meta=message.provider_meta,
    )


def _result_content(content: tuple[Text | Image, ...]) -> str | list[Text | Image]:
    if len(content) == 1 and isinstance(content[0], Text):
        return content[0].text
    return list(content)


def from_wire(wire: WireMessage, model: str = "") -> Message:
    """The message of a record. ``model`` is what an assistant's record without one inherits."""
    content = wire.content
    blocks: tuple[ContentBlock, ...]
    if wire.tool_calls or wire.tool_results:
        blocks = _merge(content, wire)
    elif isinstance(content, str):
        blocks = (Text(content),) if content else ()
    else:
        blocks = tuple(
            block
            for block in content
            if not isinstance(block, CallPlace) and not isinstance(block, ResultPlace)
        )
    role = wire.role
    origin = wire.origin
    named = wire.model
    return Message(
        wire.id,
        role,
        blocks,
        ORIGINS[role] if origin is msgspec.UNSET else origin,
        (model if named is msgspec.UNSET else named) if role == "assistant" else "",
        wire.usage,
        wire.provider_meta,
    )


def _merge(content: str | list[WireBlock], wire: WireMessage) -> tuple[ContentBlock, ...]:
    calls = [
        ToolCall(
            call.id if _SAFE_ID.fullmatch(call.id) else safe_call_id(call.id),
            call.name,
            call.args,
            call.invalid,
        )
        for call in wire.tool_calls
    ]
    results = [
        ToolResult(
            safe_call_id(result.tool_use_id),
            (Text(result.content),) if isinstance(result.content, str) else tuple(result.content),
            result.is_error,
        )
        for result in wire.tool_results
    ]
    if isinstance(content, str):
        return (*results, Text(content), *calls) if content else (*results, *calls)
    middle: list[ContentBlock] = []
    for block in content:
        if isinstance(block, CallPlace):
            call = _take(calls, [call.id for call in calls], safe_call_id(block.id))
            middle += [call] if call else []
        elif isinstance(block, ResultPlace):
            result = _take(results, [result.call_id for result in results], safe_call_id(block.tool_use_id))
            middle += [result] if result else []
        else:
            middle.append(block)
    return (*results, *middle, *calls)


def _take(items: list[_Item], ids: list[str], wanted: str) -> _Item | None:
    """Removes and returns the first item of that id."""
    return items.pop(ids.index(wanted)) if wanted in ids else None
