"""A model's service in memory: it gives the stream events of its script, one answer a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any, TypeAlias

from mewcode.core.codec import encode_json
from mewcode.core.errors import BadRequest, ProviderError
from mewcode.core.ids import new_call_id
from mewcode.core.message import Text, Thinking, ToolCall, Usage
from mewcode.core.stream import (
    BlockDelta,
    BlockEnd,
    BlockKind,
    BlockStart,
    Done,
    Failed,
    StopReason,
    StreamEvent,
    UsageReport,
)
from mewcode.providers.base import ModelRequest

ANSWER_USAGE = Usage(input_tokens=10, output_tokens=5)


class Hold:
    """The answer waits here: ``reached`` is set when it has come so far, it goes on once ``release`` is."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.release = asyncio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self.release.wait()


Item: TypeAlias = StreamEvent | Hold
Answer: TypeAlias = Sequence[Item]


class ScriptedProvider:
    """`Provider` over a list of answers. ``requests`` are those made, ``closed`` counts ended streams."""

    name = "scripted"

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.closed = 0

    def warm(self) -> None:
        """There is nothing to load."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(request)
        try:
            if not self.answers:
                yield Failed(BadRequest("the script has no answer left"))
                return
            for item in self.answers.pop(0):
                if isinstance(item, Hold):
                    await item.wait()
                else:
                    yield item
        finally:
            self.closed += 1

    async def list_models(self) -> tuple[str, ...]:
        return ("scripted-model",)

    async def aclose(self) -> None:
        return


def block(index: int, value: Text | Thinking | ToolCall, *, pieces: int = 2) -> list[StreamEvent]:
    """A whole block as it is streamed."""
    kind: BlockKind
    if isinstance(value, ToolCall):
        kind, text = "tool_call", value.invalid or encode_json(value.args).decode()
        start = BlockStart(index, kind, value.id, value.name)
    else:
        kind, text = ("text" if isinstance(value, Text) else "thinking"), value.text
        start = BlockStart(index, kind)
    size = max(1, -(-len(text) // pieces))
    deltas = [BlockDelta(index, kind, text[at : at + size]) for at in range(0, len(text), size)]
    return [start, *deltas, BlockEnd(index, value)]


def call(name: str, args: dict[str, Any] | None = None, *, invalid: str = "") -> ToolCall:
    return ToolCall(new_call_id(), name, args or {}, invalid)


def answer(
    *blocks: Text | Thinking | ToolCall | str, stop: StopReason | None = None, usage: Usage = ANSWER_USAGE
) -> list[Item]:
    """A whole answer of these blocks; a string is a text block."""
    values = [Text(value) if isinstance(value, str) else value for value in blocks]
    items: list[Item] = []
    for index, value in enumerate(values):
        items += block(index, value)
    has_calls = any(isinstance(value, ToolCall) for value in values)
    return [*items, UsageReport(usage), Done(stop or ("tool_use" if has_calls else "end_turn"), usage)]


def failure(error: ProviderError, *before: Text | Thinking | ToolCall | str) -> list[Item]:
    """An answer that fails, after some blocks came."""
    return [*answer(*before)[:-2], Failed(error)] if before else [Failed(error)]
