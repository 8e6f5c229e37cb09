"""Anthropic's Messages API, translated. No I/O here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from mewcode.core.codec import encode_json
from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from mewcode.providers.anthropic_assembler import AnthropicAssembler
from mewcode.providers.base import Endpoint, HttpRequest, ModelRequest
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.history import EncodedHistory, Group, encode_body, groups_of, is_blank

if TYPE_CHECKING:
    from anthropic.types import (
        ImageBlockParam,
        MessageParam,
        OutputConfigParam,
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


class AnthropicProtocol:
    """`WireProtocol` for ``/v1/messages``. Remembers how the messages of the last request were encoded."""

    name = "anthropic"

    def __init__(self) -> None:
        self._history = EncodedHistory()

    def build(self, request: ModelRequest, endpoint: Endpoint) -> HttpRequest:
        """The streaming request. Breakpoints for the prompt cache: last tool, last system block, last two
        messages (Anthropic allows four)."""
        model = request.model
        messages = self._history.encode(
            request.messages, model.vision, lambda group: encode_json(_message(group, model))
        )
        messages[-2:] = map(_marked, messages[-2:])
        body = encode_body(_body(request, []), messages)
        return HttpRequest("POST", f"{endpoint.base_url}/v1/messages", _headers(endpoint), body)

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


def _marked(message: bytes) -> bytes:
    """With a cache breakpoint on its last block, which ends the list that ends it."""
    assert message.endswith(b"}]}")
    return message[:-3] + b',"cache_control":{"type":"ephemeral"}}]}'


def build_body(request: ModelRequest) -> MessageCreateParamsStreaming:
    """The body as `AnthropicProtocol.build` encodes it, for the clouds' clients."""
    messages = [_message(group, request.model) for group in groups_of(request.messages)]
    for message in messages[-2:]:
        content = cast("list[Any]", message["content"])
        content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}
    return _body(request, messages)


def _body(request: ModelRequest, messages: list[MessageParam]) -> MessageCreateParamsStreaming:
    model = request.model
    body: MessageCreateParamsStreaming = {
        "model": model.name,
        "max_tokens": model.max_output,
        "messages": messages,
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
    output: OutputConfigParam = {}
    if request.effort == "low":
        if model.thinking == "adaptive":
            output["effort"] = "low"
    elif (thinking := _thinking(request.messages, model)) is not None:
        body["thinking"] = thinking
    if request.temperature is not None and model.temperature and "thinking" not in body:
        # The client's types leave it out, the newest models take none.
        cast("dict[str, Any]", body)["temperature"] = request.temperature
    if request.schema is not None and model.schema:
        output["format"] = {"type": "json_schema", "schema": request.schema}
    if output:
        body["output_config"] = output
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
            has_words = has_words or message.is_said
    return True


def _is_own(thinking: Thinking) -> bool:
    return thinking.protocol == "anthropic" and bool(thinking.signature or thinking.redacted)


def _message(group: Group, model: ModelInfo) -> MessageParam:
    """One message of a whole group: the API wants sides to alternate, and all results of one answer together,
    first and in the order of the calls.

    A thinking block takes no cache breakpoint; what is sent always ends in something else."""
    if group.is_model:
        answer = [block for message in group.messages for block in _assistant_blocks(message)]
        return {"role": "assistant", "content": cast("Any", answer)}
    return {"role": "user", "content": _user_blocks(group, model)}


def _assistant_blocks(message: Message) -> Iterator[dict[str, Any]]:
    blocks = list(message.content)
    while isinstance(blocks[-1], Thinking) or (isinstance(blocks[-1], Text) and is_blank(blocks[-1].text)):
        blocks.pop()
    for block in blocks:
        if isinstance(block, Text):
            if not is_blank(block.text):
                yield {"type": "text", "text": block.text}
        elif isinstance(block, ToolCall):
            yield {"type": "tool_use", "id": block.id, "name": block.name, "input": block.args}
        elif isinstance(block, Thinking) and _is_own(block):
            if block.redacted:
                yield {"type": "redacted_thinking", "data": block.redacted}
            else:
                yield {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _user_blocks(group: Group, model: ModelInfo) -> list[UserBlock]:
    rest: list[UserBlock] = []
    for message in group.messages:
        for block in message.content:
            if isinstance(block, Text):
                if not is_blank(block.text):
                    rest.append({"type": "text", "text": block.text})
            elif isinstance(block, Image):
                rest.append(_image(block, model))
    return [*(_result(result, model) for result in group.results()), *rest]


def _result(result: ToolResult, model: ModelInfo) -> ToolResultBlockParam:
    content: list[TextBlockParam | ImageBlockParam] = []
    for block in result.content:
        if isinstance(block, Image):
            content.append(_image(block, model))
        elif not is_blank(block.text):
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
