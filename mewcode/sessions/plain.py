"""Message records as other programs and versions write them: any JSON value, as far as it makes sense.

Taken besides our own form: records without ids, content as a list in the manner of the Messages API
(``tool_use``, ``tool_result``, ``thinking``, ``image`` with a ``source``), arguments as JSON text.
"""

from __future__ import annotations

import time
from typing import Any, cast, get_args

import msgspec

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.message import Image, Origin, Role, Text, Thinking, Usage
from mewcode.sessions.wire import CallPlace, ResultPlace, WireBlock, WireCall, WireMessage, WireResult

_ROLES: frozenset[str] = frozenset(get_args(Role))
_ORIGINS: frozenset[str] = frozenset(get_args(Origin))
_INVALID_SHOWN = 500


def read_plain(value: dict[str, Any]) -> WireMessage | str:
    """The record of a JSON object, or why it is no message. Raises nothing but RecursionError.

    A part that makes no sense is left out; where nothing is left, the whole is refused.
    """
    role = value.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return "no known role"
    wire = WireMessage(role=cast("Role", role), content="")
    for call in _items(value.get("tool_calls")):
        _add_call(call, wire)
    for result in _items(value.get("tool_results")):
        _add_result(result, wire)
    listed = {call.id for call in wire.tool_calls} | {result.tool_use_id for result in wire.tool_results}
    blocks = _blocks(value.get("content"), wire, listed)
    if "content" not in value and not wire.tool_calls and not wire.tool_results:
        return "a message without content"
    if value.get("content") and not blocks and not wire.tool_calls and not wire.tool_results:
        return "content of an unknown form"
    wire.content = blocks
    wire.id = _text(value.get("id"))
    parent = value.get("parent", msgspec.UNSET)
    wire.parent = parent if parent is None or parent is msgspec.UNSET else _text(parent)
    wire.ts = number(value.get("ts"))
    wire.of = _text(value.get("of"))
    model = value.get("model")
    wire.model = model if isinstance(model, str) else msgspec.UNSET
    origin = value.get("origin")
    if isinstance(origin, str) and origin in _ORIGINS:
        wire.origin = cast("Origin", origin)
    wire.usage = read_usage(value.get("usage"))
    meta = value.get("provider_meta")
    wire.provider_meta = meta if isinstance(meta, dict) else {}
    return wire


def read_usage(value: Any) -> Usage | None:
    """Token counts, or None where the value holds none. A count that is none is 0."""
    if not isinstance(value, dict):
        return None
    counts = {}
    for name in Usage.__struct_fields__:
        count = value.get(name)
        counts[name] = count if isinstance(count, int) and 0 <= count < 2**53 else 0
    return Usage(**counts)


def number(value: Any) -> float:
    """A finite number as a float, everything else as 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        result = float(value)
    except OverflowError:
        return 0.0
    return result if abs(result) < float("inf") else 0.0


def local_time(ts: float, form: str) -> str:
    """A moment (Unix time) in local time, in a form of `time.strftime`; "unknown" for one that is in no
    calendar."""
    try:
        return time.strftime(form, time.localtime(ts))
    except (OverflowError, ValueError, OSError):
        return "unknown"


def _text(value: Any) -> str:
    """An id: text as it is, a number in digits."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and abs(value) < 2**53 else ""


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _blocks(content: Any, wire: WireMessage, listed: set[str]) -> list[WireBlock]:
    """The blocks of ``content``; calls and results found among them go to ``wire`` unless their ids are
    ``listed`` there, their places stay."""
    if isinstance(content, str):
        return [Text(content)] if content else []
    blocks: list[WireBlock] = []
    for item in content if isinstance(content, list) else [content]:
        block = _block(item, wire, listed)
        if block is not None:
            blocks.append(block)
    return blocks


def _block(item: Any, wire: WireMessage, listed: set[str]) -> WireBlock | None:
    if isinstance(item, str):
        return Text(item)
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if kind in ("tool_use", "tool_call"):
        place = CallPlace(_text(item.get("id")))
        if "name" in item and place.id not in listed:
            _add_call(item, wire)
        return place
    if kind == "tool_result":
        result = ResultPlace(_text(item.get("tool_use_id")))
        if "content" in item and result.tool_use_id not in listed:
            _add_result(item, wire)
        return result
    if kind == "thinking":
        return _thinking(item)
    if kind == "redacted_thinking":
        return Thinking("", protocol="anthropic", redacted=_text(item.get("data")))
    return _text_or_image(item)


def _thinking(item: dict[str, Any]) -> Thinking:
    """Our form has ``text`` and says whose it is; in the other, ``thinking`` stands for ``text``."""
    if isinstance(item.get("text"), str):
        return Thinking(
            item["text"], *(_text(item.get(key)) for key in ("signature", "protocol", "redacted"))
        )
    signature = _text(item.get("signature"))
    return Thinking(_text(item.get("thinking")), signature, "anthropic" if signature else "")


def _text_or_image(item: dict[str, Any]) -> Text | Image | None:
    if item.get("type") == "image":
        source = item.get("source")
        parts = source if isinstance(source, dict) else item
        media_type, data = parts.get("media_type"), parts.get("data")
        return Image(media_type, data) if isinstance(media_type, str) and isinstance(data, str) else None
    words = item.get("text")
    return Text(words) if isinstance(words, str) else None


def _add_call(item: dict[str, Any], wire: WireMessage) -> None:
    name = item.get("name")
    args: Any = next((item[key] for key in ("args", "input", "arguments") if key in item), {})
    invalid = item.get("invalid")
    if isinstance(args, str):
        args = _parsed(args)
    if not isinstance(args, dict):
        invalid = invalid or (args if isinstance(args, str) else encode_json(args).decode())
        args = {}
    wire.tool_calls.append(
        WireCall(
            _text(item.get("id")),
            name if isinstance(name, str) and name else "unknown",
            args,
            invalid[:_INVALID_SHOWN] if isinstance(invalid, str) else "",
        )
    )


def _parsed(text: str) -> Any:
    """Arguments that were written as JSON text; the text itself where it is none."""
    if not text.strip():
        return {}
    try:
        return decode_json(text)
    except (ValueError, RecursionError):
        return text


def _add_result(item: dict[str, Any], wire: WireMessage) -> None:
    content = item.get("content")
    shown: list[Text | Image] = []
    for part in content if isinstance(content, list) else [] if content is None else [content]:
        block = (
            Text(part) if isinstance(part, str) else _text_or_image(part) if isinstance(part, dict) else None
        )
        shown.append(block or Text(encode_json(part).decode()))
    wire.tool_results.append(
        WireResult(_text(item.get("tool_use_id", item.get("id"))), shown, item.get("is_error") is True)
    )
