"""Anthropic's Messages API, translated. No I/O here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.errors import StreamBroken
from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from mewcode.core.stream import Done, Failed, StopReason, StreamEvent, UsageReport
from mewcode.providers.assemble import BlockAssembly
from mewcode.providers.base import (
    Endpoint,
    HttpRequest,
    ModelRequest,
    ServerEvent,
    without_empty_answers,
)
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.failures import error_in_stream

if TYPE_CHECKING:
    from anthropic.types import (
        ImageBlockParam,
        MessageParam,
        TextBlockParam,
        ThinkingConfigParam,
        ToolParam,
        ToolResultBlockParam,
    )
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    UserBlock = TextBlockParam | ImageBlockParam | ToolResultBlockParam
    MediaType = Literal["image/jpeg", "image/png", "image/gif", "image/webp"]

API_VERSION = "2023-06-01"

# The thinking budget of models that are given one: enough for a hard step, a sixth of the smallest output
# limit among them (64,000).
_THINKING_BUDGET = 10_000

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context_window",
}


class AnthropicProtocol:
    """`WireProtocol` for ``/v1/messages``."""

    name = "anthropic"

    def build(self, request: ModelRequest, endpoint: Endpoint) -> HttpRequest:
        """The streaming request. Breakpoints for the prompt cache: last tool, last system block, last two
        messages (Anthropic allows four)."""
        body = build_body(request)
        return HttpRequest("POST", f"{endpoint.base_url}/v1/messages", _headers(endpoint), encode_json(body))

    def assembler(self) -> AnthropicAssembler:
        return AnthropicAssembler()

    def models_request(self, endpoint: Endpoint) -> HttpRequest:
        return HttpRequest("GET", f"{endpoint.base_url}/v1/models?limit=1000", _headers(endpoint))


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"anthropic-version": API_VERSION, "content-type": "application/json"}
    if endpoint.api_key:
        if endpoint.bearer:
            headers["authorization"] = f"Bearer {endpoint.api_key}"
        else:
            headers["x-api-key"] = endpoint.api_key
    return headers | endpoint.headers


def build_body(request: ModelRequest) -> MessageCreateParamsStreaming:
    """The request's body. Cloud clients send the same one."""
    model = request.model
    body: MessageCreateParamsStreaming = {
        "model": model.name,
        "max_tokens": model.max_output,
        "messages": _messages(request.messages, model),
        "stream": True,
    }
    system: list[TextBlockParam] = [{"type": "text", "text": text} for text in request.system if text]
    if system:
        system[-1]["cache_control"] = {"type": "ephemeral"}
        body["system"] = system
    if request.tools:
        tools: list[ToolParam] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
        tools[-1]["cache_control"] = {"type": "ephemeral"}
        body["tools"] = tools
        if request.tool_choice == "none":
            body["tool_choice"] = {"type": "none"}
    thinking = _thinking(request.messages, model)
    if thinking is not None:
        body["thinking"] = thinking
    return body


def _thinking(messages: Sequence[Message], model: ModelInfo) -> ThinkingConfigParam | None:
    if model.thinking == "adaptive":
        return {"type": "adaptive", "display": "summarized"}
    if model.thinking == "budget" and model.max_output > 2 * 1_024 and _may_think(messages):
        return {"type": "enabled", "budget_tokens": min(_THINKING_BUDGET, model.max_output // 2)}
    return None


def _may_think(messages: Sequence[Message]) -> bool:
    """With a budget, the API wants each step since the user's last words to begin with thinking of its own;
    steps of another provider's model, or broken-off ones, do not. Words that follow results are sent along
    with them, and begin nothing."""
    has_words = has_results = False
    for message in reversed(messages):
        if message.role == "assistant":
            if has_words and not has_results:
                return True
            has_words = has_results = False
            if message.tool_calls:
                first = message.content[0]
                if not (isinstance(first, Thinking) and _is_own(first)):
                    return False
        else:
            has_results = has_results or message.role == "tool"
            has_words = has_words or (message.role == "user" and message.origin == "user")
    return True


def _is_own(thinking: Thinking) -> bool:
    return thinking.protocol == "anthropic" and bool(thinking.signature or thinking.redacted)


def _messages(messages: Sequence[Message], model: ModelInfo) -> list[MessageParam]:
    """Neighbours of one side become one message: the API wants sides to alternate, and all results of one
    answer together, first and in the order of the calls."""
    out: list[MessageParam] = []
    messages = without_empty_answers(messages)
    position = 0
    while position < len(messages):
        start = position
        is_model = messages[position].role == "assistant"
        while position < len(messages) and (messages[position].role == "assistant") == is_model:
            position += 1
        group = messages[start:position]
        if is_model:
            answer = [block for message in group for block in _assistant_blocks(message)]
            out.append({"role": "assistant", "content": cast("Any", answer)})
            continue
        calls = [call.id for call in messages[start - 1].tool_calls] if start else []
        if blocks := _user_blocks(group, calls, model):
            out.append({"role": "user", "content": blocks})
    for message in out[-2:]:
        content = cast("list[Any]", message["content"])
        # A thinking block takes no breakpoint; what is sent always ends in something else.
        content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}
    return out


def _assistant_blocks(message: Message) -> Iterator[dict[str, Any]]:
    blocks = list(message.content)
    while isinstance(blocks[-1], Thinking) or (isinstance(blocks[-1], Text) and not blocks[-1].text.strip()):
        blocks.pop()
    for block in blocks:
        if isinstance(block, Text):
            if block.text.strip():
                yield {"type": "text", "text": block.text}
        elif isinstance(block, ToolCall):
            yield {"type": "tool_use", "id": block.id, "name": block.name, "input": block.args}
        elif isinstance(block, Thinking) and _is_own(block):
            if block.redacted:
                yield {"type": "redacted_thinking", "data": block.redacted}
            else:
                yield {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _user_blocks(group: Sequence[Message], calls: list[str], model: ModelInfo) -> list[UserBlock]:
    results: list[ToolResult] = []
    rest: list[UserBlock] = []
    for message in group:
        for block in message.content:
            if isinstance(block, ToolResult):
                results.append(block)
            elif isinstance(block, Text):
                if block.text.strip():
                    rest.append({"type": "text", "text": block.text})
            elif isinstance(block, Image):
                rest.append(_image(block, model))
    order = {call_id: place for place, call_id in enumerate(calls)}
    results.sort(key=lambda result: order.get(result.call_id, len(order)))
    return [*(_result(result, model) for result in results), *rest]


def _result(result: ToolResult, model: ModelInfo) -> ToolResultBlockParam:
    content: list[TextBlockParam | ImageBlockParam] = []
    for block in result.content:
        if isinstance(block, Image):
            content.append(_image(block, model))
        elif block.text.strip():
            content.append({"type": "text", "text": block.text})
    param: ToolResultBlockParam = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": content or [{"type": "text", "text": "(no output)"}],
    }
    if result.is_error:
        param["is_error"] = True
    return param


def _image(image: Image, model: ModelInfo) -> ImageBlockParam | TextBlockParam:
    if not model.vision:
        return {"type": "text", "text": "[an image was here; this model takes none]"}
    media_type = cast("MediaType", image.media_type)
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": image.data}}


class AnthropicAssembler:
    """Stream events out of the Messages API's server events; see `providers.base.Assembler`."""

    def __init__(self) -> None:
        self._blocks = BlockAssembly("anthropic")
        # Some imitations give every block the index 0, one after the other: ours count on.
        self._index_of: dict[int, int] = {}
        self._used = 0
        self._usage = Usage()
        self._stop: StopReason | None = None
        self._ended = False

    def feed(self, event: ServerEvent) -> Iterator[StreamEvent]:
        if self._ended:
            return
        try:
            data = decode_json(event.data)
            if not isinstance(data, dict):
                raise ValueError("no object")
            events = list(self._take(str(data.get("type") or event.name), data))
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            events = [Failed(StreamBroken(f"the model's service sent what cannot be read ({error})"))]
        for item in events:
            if isinstance(item, Done | Failed):
                self._ended = True
            yield item

    def finish(self) -> Iterator[StreamEvent]:
        if not self._ended:
            self._ended = True
            yield Failed(StreamBroken("the answer broke off before its end", "Try again."))

    def _take(self, kind: str, data: dict[str, Any]) -> Iterator[StreamEvent]:
        if kind == "content_block_delta":
            yield from self._delta(self._index_of.get(int(data["index"]), -1), data["delta"])
        elif kind == "content_block_start":
            yield from self._start(self._new_index(int(data["index"])), data["content_block"])
        elif kind == "content_block_stop":
            yield from self._blocks.end(self._index_of.pop(int(data["index"]), -1))
        elif kind == "message_start":
            yield self._report(data["message"].get("usage"))
        elif kind == "message_delta":
            reason = data["delta"].get("stop_reason")
            if reason:
                self._stop = _STOP_REASONS.get(reason, "end_turn")
            yield self._report(data.get("usage"))
        elif kind == "message_stop":
            if self._stop is None or self._blocks.open_indexes:
                yield Failed(StreamBroken("the answer broke off before its end", "Try again."))
            else:
                yield Done(self._stop, self._usage)
        elif kind == "error":
            yield Failed(error_in_stream(data.get("error")))
        elif kind == "message":
            yield from self._whole(data)

    def _whole(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        """The answer of a server that does not stream."""
        yield self._report(data.get("usage"))
        for place, block in enumerate(data["content"]):
            index = self._new_index(place)
            yield from self._start(index, block)
            yield from self._blocks.end(index)
        yield Done(_STOP_REASONS.get(data.get("stop_reason") or "", "end_turn"), self._usage)

    def _new_index(self, index: int) -> int:
        if self._index_of.get(index) in self._blocks.open_indexes:
            raise ValueError("a block began twice")
        self._index_of[index] = self._used
        self._used += 1
        return self._used - 1

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[StreamEvent]:
        kind = block.get("type")
        if kind == "text":
            yield from self._blocks.start(index, "text")
            yield from self._blocks.add(index, block.get("text") or "")
        elif kind == "thinking":
            yield from self._blocks.start(index, "thinking")
            yield from self._blocks.add(index, block.get("thinking") or "")
            self._blocks.sign(index, block.get("signature") or "")
        elif kind == "redacted_thinking":
            yield from self._blocks.start(index, "thinking")
            self._blocks.redact(index, block.get("data") or "")
        elif kind == "tool_use":
            yield from self._blocks.start(index, "tool_call", str(block.get("name") or ""))
            if block.get("input"):
                yield from self._blocks.add(index, encode_json(block["input"]).decode())

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[StreamEvent]:
        kind = delta.get("type")
        if kind == "text_delta":
            yield from self._blocks.add(index, delta["text"])
        elif kind == "input_json_delta":
            yield from self._blocks.add(index, delta["partial_json"])
        elif kind == "thinking_delta":
            yield from self._blocks.add(index, delta["thinking"])
        elif kind == "signature_delta":
            self._blocks.sign(index, delta["signature"])

    def _report(self, usage: dict[str, Any] | None) -> UsageReport:
        """Later reports are running totals that may leave fields out; what was known stays."""
        usage, known = usage or {}, self._usage
        self._usage = Usage(
            _count(usage, "input_tokens", known.input_tokens),
            _count(usage, "output_tokens", known.output_tokens),
            _count(usage, "cache_read_input_tokens", known.cache_read_tokens),
            _count(usage, "cache_creation_input_tokens", known.cache_write_tokens),
        )
        return UsageReport(self._usage)


def _count(usage: dict[str, Any], key: str, known: int) -> int:
    value = usage.get(key)
    return int(value) if isinstance(value, int | float) and value >= 0 else known
