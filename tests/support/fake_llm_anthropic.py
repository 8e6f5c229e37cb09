"""Scripted replies in the form of the Anthropic Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from .fake_llm_reply import (
    HAPPENINGS,
    Happening,
    JsonObject,
    RedactedThinking,
    Reply,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    Usage,
    joined,
)
from .fake_llm_sse import Event, Frame

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_body(status: int, message: str, request_id: str) -> JsonObject:
    """The JSON body of an HTTP error."""
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def error_event(error: StreamError) -> Event:
    """The error event inside a stream."""
    return _event("error", error={"type": error.kind, "message": error.message})


def model_list(ids: Sequence[str]) -> JsonObject:
    """The answer of `GET /v1/models`."""
    data = [model_entry(name) for name in ids]
    return {
        "data": data,
        "has_more": False,
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
    }


def model_entry(name: str) -> JsonObject:
    """The answer of `GET /v1/models/NAME`."""
    return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}


def whole(reply: Reply, *, serial: int, model: str) -> JsonObject:
    """The answer to a request that asked for no stream."""
    content: list[JsonObject] = []
    calls = 0
    for block in reply.blocks:
        if isinstance(block, Text):
            content.append({"type": "text", "text": joined(block.pieces)})
        elif isinstance(block, Thinking):
            content.append(
                {"type": "thinking", "thinking": joined(block.pieces), "signature": block.signature}
            )
        elif isinstance(block, RedactedThinking):
            content.append({"type": "redacted_thinking", "data": block.data})
        elif isinstance(block, ToolCall):
            call_id = block.call_id("toolu", serial, calls)
            calls += 1
            content.append({"type": "tool_use", "id": call_id, "name": block.name, "input": _input_of(block)})
    return {
        **_message(serial, model, _usage(reply.usage, reply.usage.output)),
        "content": content,
        "stop_reason": reply.final_reason,
    }


def stream(reply: Reply, *, serial: int, model: str) -> Iterator[Frame]:
    """The events of a stream, with the script's happenings in their places."""
    yield _event("message_start", message=_message(serial, model, _usage(reply.usage, 1)))
    index = calls = 0
    for block in reply.blocks:
        if isinstance(block, HAPPENINGS):
            yield block
            continue
        if isinstance(block, Text):
            start: JsonObject = {"type": "text", "text": ""}
        elif isinstance(block, Thinking):
            start = {"type": "thinking", "thinking": "", "signature": ""}
        elif isinstance(block, RedactedThinking):
            start = {"type": "redacted_thinking", "data": block.data}
        else:
            call_id = block.call_id("toolu", serial, calls)
            calls += 1
            start = {"type": "tool_use", "id": call_id, "name": block.name, "input": {}}
        yield _event("content_block_start", index=index, content_block=start)
        if index == 0:
            yield _event("ping")
        for delta in _deltas(block):
            if isinstance(delta, HAPPENINGS):
                yield delta
            else:
                yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
        index += 1
    yield _event(
        "message_delta",
        delta={"stop_reason": reply.final_reason, "stop_sequence": None},
        usage=_usage(reply.usage, reply.usage.output),
    )
    yield _event("message_stop")


def _deltas(block: Text | Thinking | RedactedThinking | ToolCall) -> Iterator[JsonObject | Happening]:
    if isinstance(block, RedactedThinking):
        return
    if isinstance(block, ToolCall):
        kind, key, pieces = "input_json_delta", "partial_json", block.pieces()
        yield {"type": kind, key: ""}
    elif isinstance(block, Thinking):
        kind, key, pieces = "thinking_delta", "thinking", block.pieces
    else:
        kind, key, pieces = "text_delta", "text", block.pieces
    for piece in pieces:
        yield {"type": kind, key: piece} if isinstance(piece, str) else piece
    if isinstance(block, Thinking):
        yield {"type": "signature_delta", "signature": block.signature}


def _event(kind: str, **rest: object) -> Event:
    return Event(kind, {"type": kind, **rest})


def _message(serial: int, model: str, usage: JsonObject) -> JsonObject:
    return {
        "id": f"msg_{serial:04d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _usage(usage: Usage, output: int) -> JsonObject:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": output,
    }


def _input_of(call: ToolCall) -> object:
    if call.raw_json is None:
        return call.args
    raw = joined(call.raw_json)
    try:
        return json.loads(raw)
    except ValueError:
        return raw
