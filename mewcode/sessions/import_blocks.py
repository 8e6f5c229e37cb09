"""Parts of messages as other programs write them, turned into ours. Pure: takes any JSON, never raises."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.message import Image, Message, Origin, Text, Thinking, ToolCall, ToolResult, Usage
from mewcode.sessions.plain import number
from mewcode.sessions.wire import safe_call_id

_DATA_URL = re.compile(r"data:([\w./+-]{1,100})(?:;[\w=.-]{1,50})*;base64,")
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What the services take."""
_SHOWN = 500
"""Characters of an address or of broken arguments that are kept."""
_MILLISECONDS = 1e11
"""As seconds that is the year 5138: a larger number counts milliseconds."""


def text_in(value: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds text that says something, else an empty one."""
    found = (value.get(name) for name in names)
    return next((text for text in found if isinstance(text, str) and text.strip()), "")


def object_in(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The field where it is an object, else an empty one."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; text counts as a part of text."""
    if isinstance(value, str):
        yield {"type": "text", "text": value}
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield item
            elif isinstance(item, str):
                yield {"type": "text", "text": item}


def time_of(value: Any) -> float:
    """Unix time of an ISO date or of a number of seconds or milliseconds; 0 for what is neither."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0
    else:
        found = number(value)
        found = found / 1000 if found > _MILLISECONDS else found
    return found if found > 0 else 0.0


def image_of(media_type: Any, data: Any) -> Image | Text:
    """A picture in base64; a word in its place where a service would refuse it."""
    if not (isinstance(data, str) and isinstance(media_type, str) and media_type in _PICTURES):
        return Text("[image]")
    try:
        binascii.a2b_base64(data.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeError):
        return Text("[image]")
    return Image(media_type, data) if data else Text("[image]")


def image_at(address: Any) -> Image | Text:
    """A picture by its address: what the address itself holds, else a word that names it."""
    if not isinstance(address, str):
        return Text("[image]")
    held = _DATA_URL.match(address)
    if held:
        return image_of(held[1], address[held.end() :])
    return Text("[image]" if address.startswith("data:") else f"[image: {address[:_SHOWN]}]")


def call_of(call_id: Any, name: Any, args: Any) -> ToolCall:
    """A call of a tool. ``args``: an object, or its JSON text."""
    ours = safe_call_id(call_id) if isinstance(call_id, str) else "unknown"
    called = name if isinstance(name, str) and name else "unknown"
    given = args
    if isinstance(given, str):
        try:
            given = decode_json(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return ToolCall(ours, called, {}, given[:_SHOWN])
    if given is None or isinstance(given, dict):
        return ToolCall(ours, called, given or {})
    return ToolCall(ours, called, {}, _as_text(given)[:_SHOWN])


def result_of(
    call_id: Any, content: tuple[Text | Image, ...], *, is_error: bool = False, blocks: tuple[Text, ...] = ()
) -> Message:
    """The message of a tool's result; ``blocks``: what was said behind it."""
    ours = safe_call_id(call_id) if isinstance(call_id, str) else "unknown"
    return Message("", "tool", (ToolResult(ours, content, is_error), *blocks), "tool")


def answer_of(blocks: tuple[Text | Thinking | ToolCall, ...], model: str) -> Message:
    """What a model said."""
    return Message("", "assistant", blocks, "model", model)


def words_of(blocks: tuple[Text | Image, ...], origin: Origin = "user") -> Message:
    """What stands in a user's place."""
    return Message("", "user", blocks, origin)


def usage_of(value: Any, names: tuple[str, str, str, str]) -> Usage:
    """Tokens by the names of input, output, and what was read from and written to the cache."""
    found = value if isinstance(value, dict) else {}
    counts = (found.get(name) for name in names)
    return Usage(*(count if type(count) is int and 0 <= count < 2**53 else 0 for count in counts))


def _as_text(value: Any) -> str:
    try:
        return encode_json(value).decode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        return str(value)
