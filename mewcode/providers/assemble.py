"""The part of assembling an answer that both protocols share: blocks that open, grow and close."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mewcode.core.codec import clean_text, decode_json
from mewcode.core.ids import new_call_id
from mewcode.core.message import Text, Thinking, ToolCall
from mewcode.core.stream import BlockDelta, BlockEnd, BlockKind, BlockStart, StreamEvent

_SHOWN_OF_INVALID = 2_000


@dataclass(slots=True)
class _OpenBlock:
    kind: BlockKind
    call_id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
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
