"""Messages are values. Where they are kept, and how a provider spells them, is decided elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, overload

import msgspec

Role = Literal["user", "assistant", "tool"]
Origin = Literal["user", "model", "tool", "reminder", "recall", "compaction"]


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Plain text, in Markdown where the model wrote it."""

    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking", omit_defaults=True):
    """What a model thought before it answered.

    ``signature`` proves the text to the provider that made it, ``protocol`` says whose it is; only that
    protocol gets it back. ``redacted`` is the opaque form that Anthropic gives in place of text.
    """

    text: str
    signature: str = ""
    protocol: str = ""
    redacted: str = ""


class Image(msgspec.Struct, frozen=True, tag="image"):
    """A picture: ``media_type`` such as ``image/png``, ``data`` in base64."""

    media_type: str
    data: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """The model asks for a tool. ``id`` is ours (`core.ids.new_call_id`).

    ``invalid`` is non-empty where the arguments were no JSON object: what the model wrote, shortened. Such
    a call is never run.
    """

    id: str
    name: str
    args: dict[str, Any]
    invalid: str = ""


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """What the model reads of a tool call's outcome."""

    call_id: str
    content: tuple[Text | Image, ...]
    is_error: bool = False


ContentBlock = Text | Thinking | Image | ToolCall | ToolResult


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request. ``input_tokens`` leaves out what was read from or written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    @property
    def context_tokens(self) -> int:
        """All tokens that the request put before the model, plus its answer."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation. A ``tool`` message holds exactly one `ToolResult`."""

    id: str
    role: Role
    content: tuple[ContentBlock, ...]
    origin: Origin = "user"
    model: str = ""
    usage: Usage | None = None
    provider_meta: dict[str, Any] = {}

    @property
    def is_said(self) -> bool:
        """Whether the user said it."""
        return self.role == "user" and self.origin == "user"

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolResult))


class MessagesSoFar(Sequence[Message]):
    """The messages that a list holds now, which from now on is changed in no way but that more are appended:
    what a tuple of them would be, without the copying. That one goes on another is known without a look at
    the messages."""

    __slots__ = ("_count", "_growing")

    def __init__(self, growing: list[Message]) -> None:
        self._growing = growing
        self._count = len(growing)

    def goes_on(self, other: Sequence[Message]) -> bool:
        """Whether these are surely the others and those behind them; of another list's that is not known."""
        return (
            isinstance(other, MessagesSoFar)
            and other._growing is self._growing
            and other._count <= self._count
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple | MessagesSoFar):
            return tuple(self) == tuple(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # nobody needs it, and it would take time for all of them

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Message]:
        return islice(self._growing, self._count)

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, place: int | slice) -> Message | tuple[Message, ...]:
        places = range(self._count)[place]
        if isinstance(places, int):
            return self._growing[places]
        return tuple([self._growing[number] for number in places])


def text_of(content: tuple[Text | Image, ...]) -> str:
    """The text of a tool result; a picture becomes ``[image]``."""
    return "\n".join(block.text if isinstance(block, Text) else "[image]" for block in content)


def with_result_text(message: Message, text: str) -> Message:
    """The message with ``text`` in place of what its tool results held; all else stays, also what was added
    behind them. So a pruned result is told to the model, now and when the session is continued."""
    content = tuple(
        msgspec.structs.replace(block, content=(Text(text),)) if isinstance(block, ToolResult) else block
        for block in message.content
    )
    return msgspec.structs.replace(message, content=content)
