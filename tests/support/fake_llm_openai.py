"""Scripted replies in the form of the OpenAI Chat Completions API and of the servers that imitate it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from .fake_llm_reply import (
    HAPPENINGS,
    Dialect,
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

_CREATED = 1_735_689_600  # a fixed time, so that answers compare equal

_ERRORS: dict[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("permission_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
}

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def error_body(status: int, message: str, request_id: str) -> JsonObject:
    """The JSON body of an HTTP error; the request's id goes into a header in this protocol."""
    kind, code = _ERRORS.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_event(error: StreamError) -> Event:
    """The error inside a stream: a bare `data:` line with an error object."""
    return Event(None, {"error": {"message": error.message, "type": error.kind, "param": None, "code": None}})


def model_list(ids: Sequence[str]) -> JsonObject:
    """The answer of `GET /v1/models`."""
    return {"object": "list", "data": [model_entry(name) for name in ids]}


def model_entry(name: str) -> JsonObject:
    """The answer of `GET /v1/models/NAME`."""
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "fake"}


def whole(reply: Reply, *, serial: int, model: str, dialect: Dialect) -> JsonObject:
    """The answer to a request that asked for no stream."""
    said = "".join(joined(block.pieces) for block in reply.blocks if isinstance(block, Text))
    thought = "".join(joined(block.pieces) for block in reply.blocks if isinstance(block, Thinking))
    calls = [block for block in reply.blocks if isinstance(block, ToolCall)]
    message: JsonObject = {"role": "assistant", "content": said}
    if not said and calls and not dialect.empty_content:
        message["content"] = None
    if thought:
        message.update(dict.fromkeys(_reasoning_keys(dialect), thought))
    if calls:
        message["tool_calls"] = [
            _entry(call, position, serial, dialect, _arguments(call, dialect), first=True, indexed=False)
            for position, call in enumerate(calls)
        ]
    if dialect.null_fields:
        for key in ("reasoning_content", "tool_calls", "refusal", "function_call", "audio"):
            message.setdefault(key, None)
    answer: JsonObject = {
        "id": f"chatcmpl-{serial:04d}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": model,
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply, dialect)}
        ],
    }
    if dialect.usage != "never":
        answer["usage"] = _usage(reply.usage)
    return answer


def stream(
    reply: Reply, *, serial: int, model: str, dialect: Dialect, include_usage: bool
) -> Iterator[Frame]:
    """The chunks of a stream, with the script's happenings in their places."""
    form = _Form(reply, serial, model, dialect, include_usage)
    yield form.chunk({"role": "assistant", "content": None if dialect.null_content else ""})
    calls: list[ToolCall] = []
    for block in reply.blocks:
        if isinstance(block, ToolCall):
            if dialect.interleave_calls:
                calls.append(block)
            else:
                yield from form.frames(_call_deltas(block, len(calls), serial, dialect))
                calls.append(block)
        elif isinstance(block, (Text, Thinking)):
            keys = ("content",) if isinstance(block, Text) else _reasoning_keys(dialect)
            for piece in block.pieces:
                yield form.chunk(dict.fromkeys(keys, piece)) if isinstance(piece, str) else piece
        elif not isinstance(block, RedactedThinking):
            yield block
    if dialect.interleave_calls:
        each = (_call_deltas(call, position, serial, dialect) for position, call in enumerate(calls))
        woven = chain.from_iterable(zip_longest(*each))
        yield from form.frames(delta for delta in woven if delta is not None)
    yield form.chunk({}, finish=_finish(reply, dialect))
    if dialect.usage == "own_chunk" or (dialect.usage == "asked" and include_usage):
        yield form.usage_chunk()
    if dialect.done:
        yield Event(None, "[DONE]")


@dataclass(frozen=True, slots=True)
class _Form:
    """The frame around every delta of one answer."""

    reply: Reply
    serial: int
    model: str
    dialect: Dialect
    include_usage: bool

    def frames(self, deltas: Iterator[JsonObject | Happening]) -> Iterator[Frame]:
        for delta in deltas:
            yield delta if isinstance(delta, HAPPENINGS) else self.chunk({"tool_calls": [delta]})

    def chunk(self, delta: JsonObject, finish: str | None = None) -> Event:
        dialect = self.dialect
        if dialect.null_content or dialect.empty_content:
            delta.setdefault("content", None if dialect.null_content else "")
        if dialect.null_fields:
            keys = ("role", "content", "reasoning_content", "tool_calls", "refusal", "function_call")
            delta = {**dict.fromkeys(keys), **delta}
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        if dialect.null_fields:
            choice["logprobs"] = None
        body = self._head([choice])
        if dialect.usage == "every_chunk" or (dialect.usage == "last_chunk" and finish is not None):
            body["usage"] = _usage(self.reply.usage)
        elif dialect.null_fields or (dialect.usage == "asked" and self.include_usage):
            body["usage"] = None
        return Event(None, body)

    def usage_chunk(self) -> Event:
        return Event(None, {**self._head([]), "usage": _usage(self.reply.usage)})

    def _head(self, choices: list[JsonObject]) -> JsonObject:
        body: JsonObject = {
            "id": f"chatcmpl-{self.serial:04d}",
            "object": "chat.completion.chunk",
            "created": _CREATED,
            "model": self.model,
            "choices": choices,
        }
        if self.dialect.null_fields:
            body["system_fingerprint"] = None
        return body


def _call_deltas(
    call: ToolCall, position: int, serial: int, dialect: Dialect
) -> Iterator[JsonObject | Happening]:
    if dialect.whole_call or dialect.arguments_object:
        yield _entry(call, position, serial, dialect, _arguments(call, dialect), first=True)
        return
    yield _entry(call, position, serial, dialect, None if dialect.null_fields else "", first=True)
    for piece in call.pieces():
        if isinstance(piece, str):
            yield _entry(call, position, serial, dialect, piece, first=False)
        else:
            yield piece


def _entry(
    call: ToolCall,
    position: int,
    serial: int,
    dialect: Dialect,
    arguments: object,
    *,
    first: bool,
    indexed: bool = True,
) -> JsonObject:
    entry: JsonObject = {}
    if indexed and dialect.tool_index:
        entry["index"] = position
    if dialect.tool_id == "every" or (first and dialect.tool_id == "first"):
        entry["id"] = call.call_id("call", serial, position)
    elif dialect.null_fields:
        entry["id"] = None
    function: JsonObject = {}
    if first or dialect.repeat_name:
        entry["type"] = "function"
        function["name"] = call.name
    elif dialect.null_fields:
        entry["type"] = None
        function["name"] = None
    function["arguments"] = arguments
    entry["function"] = function
    return entry


def _arguments(call: ToolCall, dialect: Dialect) -> object:
    raw = joined(call.pieces())
    if not dialect.arguments_object:
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        return raw


def _reasoning_keys(dialect: Dialect) -> tuple[str, ...]:
    if dialect.reasoning_field == "both":
        return ("reasoning_content", "reasoning")
    return (dialect.reasoning_field,)


def _finish(reply: Reply, dialect: Dialect) -> str:
    return dialect.finish_reason or _FINISH.get(reply.final_reason, reply.final_reason)


def _usage(usage: Usage) -> JsonObject:
    prompt = usage.input + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }
