"""The Chat Completions API of OpenAI and of the many servers that imitate it, translated. No I/O here.

Where the imitations differ, what is sent is what the most of them take:

- ``content`` is null beside tool calls that have no text: the API's own form. Bedrock behind a gateway
  refuses an empty string there, with Ollama it makes some models write calls as text; DeepSeek refuses a
  message without the field.
- A server gets its reasoning back under the field in which it came, and from the model that is asked. Kimi
  refuses a tool call without it, DeepSeek also in later turns (api-docs.deepseek.com, "Thinking mode");
  Mistral, Groq and Cerebras refuse ``reasoning_content`` that they never sent. It stays for good: others
  leave out what is old by themselves, and the prefix that they cache stays the same.
- What the user and MewCode say after tool results is put into the last result: Mistral and others refuse a
  user message there.
- Neighbouring messages of one side become one: some chat templates refuse anything but alternation.
- No output limit is sent for a model of which nothing is known: a server with a small window refuses one
  that exceeds it, and without a limit each takes what is left of the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mewcode.core.codec import encode_json
from mewcode.core.message import Image, Text, Thinking, ToolResult
from mewcode.providers.base import Endpoint, HttpRequest, ModelRequest
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.history import EncodedHistory, Group, encode_body, is_blank
from mewcode.providers.openai_assembler import THINK_TAG, OpenAIChatAssembler
from mewcode.providers.openai_wire import (
    AssistantMessage,
    ChatMessage,
    ChatRequest,
    ContentPart,
    FunctionCall,
    JsonSchema,
    ToolMessage,
    ToolParam,
    UserMessage,
)

# Hosts that refuse any tool call without reasoning, also one that another provider's model made. A blank
# stands for what is not there: Kimi refuses the empty string.
_DEMANDING_HOSTS = ("deepseek.com", "moonshot.ai", "moonshot.cn", "kimi.ai", "kimi.com")
_NO_REASONING = " "

_NO_IMAGES = "[an image was here; this model takes none]"
_IMAGE_FOLLOWS = "[an image: it is in the user message that follows]"
_IMAGES_OF_RESULTS = "The images of the tool results above:"


class OpenAIChatProtocol:
    """`WireProtocol` for ``/chat/completions``; the base URL includes the version (``/v1``). Remembers how
    the messages of the last request were encoded."""

    name = "openai"

    def __init__(self) -> None:
        self._history = EncodedHistory()

    def build(self, request: ModelRequest, endpoint: Endpoint) -> HttpRequest:
        model = request.model
        demanding = _host(endpoint.base_url).endswith(_DEMANDING_HOSTS)
        messages = self._history.encode(
            request.messages,
            (model.name, model.vision, demanding),
            lambda group: _encoded(_messages(group, model, demanding=demanding)),
        )
        if system := "\n\n".join(text for text in request.system if text):
            messages.insert(0, _encoded([{"role": "system", "content": system}]))
        url = f"{endpoint.base_url}/chat/completions"
        return HttpRequest("POST", url, _headers(endpoint), encode_body(_body(request), messages))

    def assembler(self) -> OpenAIChatAssembler:
        return OpenAIChatAssembler()

    def models_request(self, endpoint: Endpoint) -> HttpRequest:
        return HttpRequest("GET", f"{endpoint.base_url}/models", _headers(endpoint))


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if endpoint.api_key:
        headers["authorization"] = f"Bearer {endpoint.api_key}"
    return headers | endpoint.headers


def _encoded(messages: Iterable[ChatMessage]) -> bytes:
    """The messages as they stand in a list."""
    return encode_json(list(messages))[1:-1]


def _body(request: ModelRequest) -> ChatRequest:
    """The streaming request's body but for its messages. Its usage is asked for: by default a stream has
    none."""
    model = request.model
    body: ChatRequest = {
        "model": model.name,
        "messages": [],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if model.thinking == "effort":
        # OpenAI's reasoning models refuse the old name, most other servers know no other.
        body["max_completion_tokens"] = model.max_output
        if request.effort == "low":
            body["reasoning_effort"] = "low"
    elif not model.is_unknown:
        body["max_tokens"] = model.max_output
    if request.temperature is not None and model.temperature:
        body["temperature"] = request.temperature
    if request.tools:
        tools: list[ToolParam] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                },
            }
            for tool in request.tools
        ]
        body["tools"] = tools
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
    if request.schema is not None and model.schema:
        # The API wants a name and makes nothing of it.
        answer: JsonSchema = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": answer}
    return body


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0].lower()


def _messages(group: Group, model: ModelInfo, *, demanding: bool) -> Iterator[ChatMessage]:
    if group.is_model:
        yield _assistant(group, model, demanding=demanding)
    else:
        yield from _others(group, model)


def _assistant(group: Group, model: ModelInfo, *, demanding: bool) -> AssistantMessage:
    texts: list[str] = []
    calls: list[FunctionCall] = []
    reasoning: dict[str, str] = {}
    for message in group.messages:
        text = "" if is_blank(message.text) else message.text
        for block in message.content:
            if isinstance(block, Thinking) and block.protocol == "openai" and message.model == model.name:
                if block.signature == THINK_TAG:
                    text = f"<think>{block.text}</think>\n{text}"
                else:
                    reasoning[block.signature] = reasoning.get(block.signature, "") + block.text
        if text:
            texts.append(text)
        calls += [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": encode_json(call.args).decode()},
            }
            for call in message.tool_calls
        ]
    answer: AssistantMessage = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if calls:
        answer["tool_calls"] = calls
    if "reasoning_content" in reasoning:
        answer["reasoning_content"] = reasoning["reasoning_content"]
    elif "reasoning" in reasoning:
        answer["reasoning"] = reasoning["reasoning"]
    if demanding and calls:
        answer["reasoning_content"] = reasoning.get("reasoning_content") or _NO_REASONING
    return answer


def _others(group: Group, model: ModelInfo) -> Iterator[ToolMessage | UserMessage]:
    """The results of one answer in the order of its calls, then what else was said to the model."""
    results = group.results()
    texts: list[str] = []
    images: list[Image] = []
    for message in group.messages:
        for block in message.content:
            if isinstance(block, Text):
                if not is_blank(block.text):
                    texts.append(block.text)
            elif isinstance(block, Image):
                if model.vision:
                    images.append(block)
                else:
                    texts.append(_NO_IMAGES)
    if not results:
        yield from _user(texts, images)
        return
    told: list[ToolMessage] = [
        {"role": "tool", "tool_call_id": result.call_id, "content": _result_text(result, model)}
        for result in results
    ]
    told[-1]["content"] = "\n\n".join([told[-1]["content"], *texts])
    yield from told
    if model.vision:
        shown = [block for result in results for block in result.content if isinstance(block, Image)]
        yield from _user([_IMAGES_OF_RESULTS] if shown else [], [*shown, *images])


def _user(texts: list[str], images: list[Image]) -> Iterator[UserMessage]:
    if images:
        parts: list[ContentPart] = [{"type": "text", "text": "\n\n".join(texts)}] if texts else []
        parts += [
            {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}
            for image in images
        ]
        yield {"role": "user", "content": parts}
    elif texts:
        yield {"role": "user", "content": "\n\n".join(texts)}


def _result_text(result: ToolResult, model: ModelInfo) -> str:
    note = _IMAGE_FOLLOWS if model.vision else _NO_IMAGES
    texts = [block.text if isinstance(block, Text) else note for block in result.content]
    return "\n".join(text for text in texts if not is_blank(text)) or "(no output)"
