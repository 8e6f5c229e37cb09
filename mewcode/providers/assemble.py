"""What both protocols share in assembling an answer: when it ends, and blocks that open, grow and close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import msgspec

from mewcode.core.codec import clean_text, decode_json
from mewcode.core.errors import StreamBroken
from mewcode.core.ids import new_call_id
from mewcode.core.message import Text, Thinking, ToolCall
from mewcode.core.stream import BlockDelta, BlockEnd, BlockKind, BlockStart, Done, Failed, StreamEvent
from mewcode.providers.base import ServerEvent

_SHOWN_OF_INVALID = 2_000


class AnswerAssembler(ABC):
    """`providers.base.Assembler` for both protocols: ends once, and takes what makes no sense for a broken
    stream. Each says in `_take` what an event means, and in `_at_end` what the body's end does."""

    def __init__(self) -> None:
        self._ended = False

    def feed(self, event: ServerEvent) -> Iterator[StreamEvent]:
        if self._ended:
            return
        try:
            events = list(self._take(event))
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            events = [Failed(StreamBroken(f"the model's service sent what cannot be read ({error})"))]
        for item in events:
            if isinstance(item, Done | Failed):
                self._ended = True
            yield item

    def finish(self) -> Iterator[StreamEvent]:
        if not self._ended:
            self._ended = True
            yield from self._at_end()

    @abstractmethod
    def _take(self, event: ServerEvent) -> Iterator[StreamEvent]:
        """The events that this one completes. May raise what reading data of an unknown form raises."""

    @abstractmethod
    def _at_end(self) -> Iterator[StreamEvent]:
        """The events when the body ends before a `Done` or `Failed` came."""


def broke_off() -> Failed:
    """The end of an answer that is not whole."""
    return Failed(StreamBroken("the answer broke off before its end", "Try again."))


def data_of(event: ServerEvent) -> dict[str, Any]:
    """The object that an event carries; raises ValueError where it is none."""
    data = decode_json(event.data)
    if not isinstance(data, dict):
        raise ValueError("no object")
    return data


class _OpenBlock(msgspec.Struct):
    kind: BlockKind
    call_id: str = ""
    name: str = ""
    parts: list[str] = []
    signature: str = ""
    redacted: str = ""


class BlockAssembly:
    """Blocks in the making, by the index that the front end sees."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._open: dict[int, _OpenBlock] = {}

    @property
    def open_indexes(self) -> tuple[int, ...]:
        return tuple(self._open)

    def start(self, index: int, kind: BlockKind, name: str = "") -> Iterator[StreamEvent]:
        """Opens a block; a tool call gets an id of ours here."""
        block = _OpenBlock(kind, new_call_id() if kind == "tool_call" else "", clean_text(name))
        self._open[index] = block
        yield BlockStart(index, kind, block.call_id, block.name)

    def add(self, index: int, text: str) -> Iterator[StreamEvent]:
        """Grows a block. Text for one that is not open is ignored."""
        block = self._open.get(index)
        if block is not None and text:
            text = clean_text(text)
            block.parts.append(text)
            yield BlockDelta(index, block.kind, text)

    def sign(self, index: int, signature: str) -> None:
        if block := self._open.get(index):
            block.signature += signature

    def redact(self, index: int, data: str) -> None:
        if block := self._open.get(index):
            block.redacted = data

    def end(self, index: int) -> Iterator[StreamEvent]:
        """Closes a block. An empty text block leaves nothing behind."""
        block = self._open.pop(index, None)
        if block is not None:
            yield BlockEnd(index, self._whole(block))

    def _whole(self, block: _OpenBlock) -> Text | Thinking | ToolCall:
        text = "".join(block.parts)
        if block.kind == "text":
            return Text(text)
        if block.kind == "thinking":
            return Thinking(text, block.signature, self._protocol, block.redacted)
        return tool_call(block.call_id, block.name, text)


def tool_call(call_id: str, name: str, arguments: str) -> ToolCall:
    """The call that ``arguments`` (JSON text, empty for none) describes; marked invalid where they are no
    JSON object. Nothing is repaired: a tool never runs on a guess."""
    try:
        args: Any = decode_json(arguments) if arguments.strip() else {}
    except ValueError:
        args = None
    if not isinstance(args, dict):
        return ToolCall(call_id, name, {}, invalid=arguments[:_SHOWN_OF_INVALID] or "(empty)")
    return ToolCall(call_id, name, args)
