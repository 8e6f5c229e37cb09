"""The shape of a Chat Completions request as far as we use it; the type checker holds what we send to it."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class TextPart(TypedDict):
    type: Literal["text"]
    text: str


class ImageUrl(TypedDict):
    url: str


class ImagePart(TypedDict):
    type: Literal["image_url"]
    image_url: ImageUrl


ContentPart = TextPart | ImagePart


class Function(TypedDict):
    """``arguments`` is an object as JSON text."""

    name: str
    arguments: str


class FunctionCall(TypedDict):
    id: str
    type: Literal["function"]
    function: Function


class SystemMessage(TypedDict):
    role: Literal["system"]
    content: str


class UserMessage(TypedDict):
    role: Literal["user"]
    content: str | list[ContentPart]


class AssistantMessage(TypedDict):
    """``content`` is always there; null only beside tool calls."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: NotRequired[list[FunctionCall]]
    reasoning_content: NotRequired[str]
    reasoning: NotRequired[str]


class ToolMessage(TypedDict):
    role: Literal["tool"]
    tool_call_id: str
    content: str


ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class FunctionSpec(TypedDict):
    name: str
    description: str
    parameters: dict[str, Any]


class ToolParam(TypedDict):
    type: Literal["function"]
    function: FunctionSpec


class StreamOptions(TypedDict):
    include_usage: bool


class JsonSchema(TypedDict):
    name: str
    strict: Literal[True]
    schema: dict[str, Any]


class ResponseFormat(TypedDict):
    type: Literal["json_schema"]
    json_schema: JsonSchema


class ChatRequest(TypedDict):
    model: str
    messages: list[ChatMessage]
    stream: Literal[True]
    stream_options: StreamOptions
    max_tokens: NotRequired[int]
    max_completion_tokens: NotRequired[int]
    reasoning_effort: NotRequired[Literal["low"]]
    temperature: NotRequired[float]
    tools: NotRequired[list[ToolParam]]
    tool_choice: NotRequired[Literal["none"]]
    response_format: NotRequired[ResponseFormat]
