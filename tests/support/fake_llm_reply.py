"""What the fake model server answers, as data.

A `Reply` is one model answer in words that belong to no wire protocol: blocks of text, thinking and tool
calls, a stop reason, token counts, and the ways in which the answer misbehaves. Every value here is frozen,
compares by content and has a JSON form, so one script serves a unit test and a server process alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from .fake_llm_codec import OPAQUE, Codec, nested

JsonObject: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Gate:
    """Nothing more is sent until the test releases this name. A released name stays released."""

    name: str = "gate"


@dataclass(frozen=True, slots=True)
class Cut:
    """The answer stops here.

    `end` finishes the HTTP body in good order, `drop` closes the connection in the middle of the body,
    `reset` sends a TCP reset. A reset may overtake bytes the client has not read yet; a test that needs
    them read puts a `Gate` in front and releases it after it saw them.
    """

    how: Literal["end", "drop", "reset"] = "end"


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error inside a 200 stream, in the protocol's form; with `ends` the body is finished after it."""

    kind: str = "overloaded_error"
    message: str = "Overloaded"
    ends: bool = True


@dataclass(frozen=True, slots=True)
class Comment:
    """An SSE comment line, as proxies send to keep a connection alive."""

    text: str = "ping"


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of a type no client knows."""

    name: str = "surprise"
    data: JsonObject = field(default_factory=lambda: {"type": "surprise"}, metadata=OPAQUE)


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes, as they are; `encoding="latin-1"` writes any byte value."""

    text: str
    encoding: str = "utf-8"


Happening: TypeAlias = Gate | Cut | StreamError | Comment | UnknownEvent | Raw
Piece: TypeAlias = str | Happening
HAPPENINGS = (Gate, Cut, StreamError, Comment, UnknownEvent, Raw)


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text; each string among the pieces is one delta."""

    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning with its signature; the OpenAI protocol carries the text alone."""

    pieces: tuple[Piece, ...]
    signature: str = "sig-fake"


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """Reasoning the provider encrypted; the OpenAI protocol has no such thing and leaves it out."""

    data: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call. `raw_json` replaces the serialised arguments piece by piece, valid or not."""

    name: str
    args: JsonObject = field(default_factory=dict, metadata=OPAQUE)
    id: str | None = None
    raw_json: tuple[Piece, ...] | None = None
    chunks: int = 1

    def pieces(self) -> tuple[Piece, ...]:
        """The argument text as it is streamed."""
        if self.raw_json is not None:
            return self.raw_json
        return _split(json.dumps(self.args, ensure_ascii=False), self.chunks)

    def call_id(self, prefix: str, serial: int, position: int) -> str:
        """The given id, or one made from the request's and the call's number."""
        return self.id or f"{prefix}_{serial:04d}_{position}"


Block: TypeAlias = Text | Thinking | RedactedThinking | ToolCall | Happening


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer. `input` counts neither the tokens read from the cache nor those written to it."""

    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server that calls itself OpenAI compatible differs. The defaults are OpenAI's own behaviour."""

    tool_index: bool = True
    tool_id: Literal["first", "every", "never"] = "first"
    repeat_name: bool = False
    interleave_calls: bool = False
    arguments_object: bool = False  # implies `whole_call`
    whole_call: bool = False
    null_content: bool = False  # `"content": null` in every delta that has no text
    empty_content: bool = False  # `"content": ""` in every delta that has no text
    null_fields: bool = False  # every field the protocol knows and this delta does not use is null
    usage: Literal["asked", "own_chunk", "last_chunk", "every_chunk", "never"] = "asked"
    reasoning_field: Literal["reasoning_content", "reasoning", "both"] = "reasoning_content"
    finish_reason: str | None = None  # sent in place of the right one
    done: bool = True  # `data: [DONE]` at the end
    wants_reasoning_back: bool = False  # 400 when a tool call comes back without its reasoning_content


@dataclass(frozen=True, slots=True)
class Faults:
    """How the answer misbehaves on its way.

    `before` happens ahead of the status line (gates and cuts only). `at` pairs an event's index with what
    happens ahead of that event; negative indexes count from the end, the number of events means after the
    last. `split_every` and `split_at` (byte offsets in the body) decide where HTTP chunks end, inside a
    character or a line end if so; `coalesce` puts all events into as few chunks as possible.
    `drip` waits so many seconds between chunks.
    """

    before: tuple[Happening, ...] = ()
    at: tuple[tuple[int, Happening], ...] = ()
    line_end: Literal["\n", "\r\n", "\r"] = "\n"
    comments: bool = False  # a comment ahead of each event
    unknown_events: bool = False  # an unknown event ahead of each event
    blank_lines: bool = False  # two blank lines more after each event
    blank_data: bool = False  # an event with empty data ahead of each event
    space_after_colon: bool = True
    multi_line_data: bool = False  # the JSON of an event over several `data:` lines
    split_every: int | None = None
    split_at: tuple[int, ...] = ()
    coalesce: bool = False
    drip: float = 0.0
    content_type: str | None = None
    ignore_stream: bool = False  # one JSON body although a stream was asked for
    until_close: bool = False  # neither length nor chunks: the body ends when the connection does


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer. Build it with `of`, `text`, `calls`, `error`, `reset`, `hang_up` or `stall`."""

    blocks: tuple[Block, ...] = ()
    stop_reason: str | None = None
    usage: Usage = field(default=Usage(), metadata=nested(Usage))
    status: int = 200
    message: str | None = None
    body: object = field(default=None, metadata=OPAQUE)
    headers: Mapping[str, str] = field(default_factory=dict, metadata=OPAQUE)
    faults: Faults = field(default=Faults(), metadata=nested(Faults))
    dialect: Dialect | None = field(default=None, metadata=nested(Dialect))

    @classmethod
    def of(
        cls,
        *blocks: Block,
        stop_reason: str | None = None,
        usage: Usage = Usage(),
        faults: Faults = Faults(),
        dialect: Dialect | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """An answer of these blocks; the stop reason is `tool_use` or `end_turn` unless given."""
        return cls(
            blocks,
            stop_reason=stop_reason,
            usage=usage,
            faults=faults,
            dialect=dialect,
            headers=dict(headers or {}),
        )

    @classmethod
    def text(
        cls,
        content: str | Sequence[Piece],
        *,
        chunks: int = 1,
        stop_reason: str | None = None,
        usage: Usage = Usage(),
        faults: Faults = Faults(),
        dialect: Dialect | None = None,
    ) -> Reply:
        """An answer of one text block, in `chunks` deltas or in the pieces given."""
        block = text(content, chunks=chunks)
        return cls.of(block, stop_reason=stop_reason, usage=usage, faults=faults, dialect=dialect)

    @classmethod
    def calls(
        cls,
        *calls: tuple[str, JsonObject] | ToolCall,
        say: str | None = None,
        chunks: int = 1,
        usage: Usage = Usage(),
        faults: Faults = Faults(),
        dialect: Dialect | None = None,
    ) -> Reply:
        """An answer of parallel tool calls, after the text `say` if there is one."""
        blocks: list[Block] = [text(say)] if say is not None else []
        for call in calls:
            blocks.append(call if isinstance(call, ToolCall) else ToolCall(call[0], call[1], chunks=chunks))
        return cls.of(*blocks, usage=usage, faults=faults, dialect=dialect)

    @classmethod
    def error(
        cls,
        status: int,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        message: str | None = None,
        retry_after: int | float | str | None = None,
        faults: Faults = Faults(),
    ) -> Reply:
        """An HTTP error.

        Without a body the protocol's own error JSON is sent, with `message` if given. A string is sent as it
        is (HTML when it starts with `<`, the empty string is an empty body), anything else as JSON.
        `retry_after` is seconds or an HTTP date.
        """
        sent = dict(headers or {})
        if retry_after is not None:
            sent["retry-after"] = str(retry_after)
        return cls(status=status, body=body, headers=sent, message=message, faults=faults)

    @classmethod
    def reset(cls) -> Reply:
        """The connection is reset before a byte of the answer."""
        return cls(faults=Faults(before=(Cut("reset"),)))

    @classmethod
    def hang_up(cls) -> Reply:
        """The connection is closed before a byte of the answer."""
        return cls(faults=Faults(before=(Cut("drop"),)))

    @classmethod
    def stall(cls, name: str = "stall", then: Reply | None = None) -> Reply:
        """Not a byte until `name` is released; then the answer `then`, by default the text "late"."""
        reply = then or cls.text("late")
        return replace(reply, faults=replace(reply.faults, before=(Gate(name), *reply.faults.before)))

    def at(self, index: int, happening: Happening) -> Reply:
        """The same answer with this happening ahead of the event at `index`; see `Faults.at`."""
        return replace(self, faults=replace(self.faults, at=(*self.faults.at, (index, happening))))

    def cut(self, index: int = -1, how: Literal["end", "drop", "reset"] = "end") -> Reply:
        """The same answer, cut ahead of the event at `index`: by default the last event never comes."""
        return self.at(index, Cut(how))

    @property
    def is_error(self) -> bool:
        """Whether this is an HTTP error or a body of the script's own, rather than a model answer."""
        return self.status != 200 or self.body is not None or self.message is not None

    @property
    def final_reason(self) -> str:
        """The stop reason given, or the one the blocks imply."""
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(isinstance(block, ToolCall) for block in self.blocks) else "end_turn"

    def to_json(self) -> JsonObject:
        """The JSON form; fields at their default are left out."""
        return _CODEC.encode(self)

    @classmethod
    def from_json(cls, value: object) -> Reply:
        """Read the JSON form. Raises ValueError.

        A string is a text answer, a list is an answer's blocks, a string among the blocks is a text block.
        """
        if isinstance(value, str):
            return cls.text(value)
        if isinstance(value, list):
            value = {"blocks": value}
        if isinstance(value, dict) and isinstance(value.get("blocks"), list):
            blocks = [
                {"type": "text", "pieces": [item]} if isinstance(item, str) else item
                for item in value["blocks"]
            ]
            value = {**value, "blocks": blocks}
        return _CODEC.decode(cls, value)


def text(content: str | Sequence[Piece], *, chunks: int = 1) -> Text:
    """A text block: a string in `chunks` deltas, or the deltas themselves, with happenings among them."""
    return Text(_pieces(content, chunks))


def thinking(content: str | Sequence[Piece], signature: str = "sig-fake", *, chunks: int = 1) -> Thinking:
    """A thinking block, cut into deltas as `text` is."""
    return Thinking(_pieces(content, chunks), signature)


def tool_call(
    name: str,
    args: JsonObject | None = None,
    id: str | None = None,  # noqa: A002 - the protocols' own word
    raw_json: str | Sequence[Piece] | None = None,
    *,
    chunks: int = 1,
) -> ToolCall:
    """A tool call whose arguments come in `chunks` deltas; `raw_json` is sent in place of the arguments."""
    raw = None if raw_json is None else _pieces(raw_json, chunks)
    return ToolCall(name, dict(args or {}), id, raw, chunks)


def joined(pieces: Sequence[Piece]) -> str:
    """The text of the pieces without what happens between them."""
    return "".join(piece for piece in pieces if isinstance(piece, str))


def happenings(reply: Reply) -> list[Happening]:
    """What happens inside the blocks, in order, for an answer that is sent whole."""
    found: list[Happening] = []
    for block in reply.blocks:
        if isinstance(block, HAPPENINGS):
            found.append(block)
        elif not isinstance(block, RedactedThinking):
            pieces = block.pieces() if isinstance(block, ToolCall) else block.pieces
            found.extend(piece for piece in pieces if not isinstance(piece, str))
    return found


def _pieces(content: str | Sequence[Piece], chunks: int) -> tuple[Piece, ...]:
    return _split(content, chunks) if isinstance(content, str) else tuple(content)


def _split(content: str, chunks: int) -> tuple[str, ...]:
    count = max(1, min(chunks, len(content)))
    bounds = [len(content) * step // count for step in range(count + 1)]
    return tuple(content[start:end] for start, end in pairwise(bounds))


_CODEC = Codec(
    {
        "gate": Gate,
        "cut": Cut,
        "stream_error": StreamError,
        "comment": Comment,
        "unknown_event": UnknownEvent,
        "raw": Raw,
        "text": Text,
        "thinking": Thinking,
        "redacted_thinking": RedactedThinking,
        "tool_call": ToolCall,
    }
)
