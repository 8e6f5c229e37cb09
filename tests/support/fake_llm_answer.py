"""A reply in the words of the protocol in which the request was made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from . import fake_llm_anthropic as anthropic
from . import fake_llm_openai as openai
from .fake_llm_reply import Dialect, JsonObject, Reply
from .fake_llm_request import RecordedRequest
from .fake_llm_sse import Step, steps


def stream_steps(request: RecordedRequest, reply: Reply, dialect: Dialect) -> Iterator[Step]:
    """The body of a stream. Raises ValueError when the script names an event there is not."""
    if request.protocol == "anthropic":
        events = anthropic.stream(reply, serial=request.index, model=request.model)
        return steps(events, reply.faults, anthropic.error_event)
    chunks = openai.stream(
        reply,
        serial=request.index,
        model=request.model,
        dialect=reply.dialect or dialect,
        include_usage=wants_usage(request),
    )
    return steps(chunks, reply.faults, openai.error_event)


def whole_body(request: RecordedRequest, reply: Reply, dialect: Dialect) -> bytes:
    """The JSON body for a request that wants no stream."""
    if request.protocol == "anthropic":
        answer = anthropic.whole(reply, serial=request.index, model=request.model)
    else:
        chosen = reply.dialect or dialect
        answer = openai.whole(reply, serial=request.index, model=request.model, dialect=chosen)
    return _dump(answer)


def error_body(request: RecordedRequest, reply: Reply) -> tuple[str, bytes]:
    """Content type and body of an HTTP error."""
    if isinstance(reply.body, str):
        kind = "text/html" if reply.body.startswith("<") else "text/plain"
        return f"{kind}; charset=utf-8", reply.body.encode()
    if reply.body is not None:
        return "application/json", _dump(reply.body)
    message = reply.message or f"the fake model server answers {reply.status}"
    build = anthropic.error_body if request.protocol == "anthropic" else openai.error_body
    return "application/json", _dump(build(reply.status, message, _request_id(request)))


def model_list(request: RecordedRequest, ids: Sequence[str]) -> JsonObject:
    """The models on offer."""
    return anthropic.model_list(ids) if request.protocol == "anthropic" else openai.model_list(ids)


def model_entry(request: RecordedRequest, name: str) -> JsonObject:
    """One model on offer."""
    return anthropic.model_entry(name) if request.protocol == "anthropic" else openai.model_entry(name)


def id_headers(request: RecordedRequest) -> dict[str, str]:
    """The header that carries the request's id."""
    name = "request-id" if request.protocol == "anthropic" else "x-request-id"
    return {name: _request_id(request)}


def wants_usage(request: RecordedRequest) -> bool:
    """Whether an OpenAI stream was asked to end with a usage chunk."""
    options = request.payload.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _request_id(request: RecordedRequest) -> str:
    return f"req_{request.index:04d}"


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
