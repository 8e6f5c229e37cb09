"""The order of stream events, as `mewcode.core.stream` promises it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mewcode.core.codec import encode_json
from mewcode.core.message import Text, Thinking, ToolCall
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart, Done, Failed, StreamEvent
from mewcode.providers.base import Assembler, ServerEvent

_KINDS = {"text": Text, "thinking": Thinking, "tool_call": ToolCall}


def check_stream(events: Sequence[StreamEvent]) -> None:
    """Raises AssertionError where a finished stream's events are out of order."""
    kinds: dict[int, str] = {}
    texts: dict[int, str] = {}
    ended: set[int] = set()
    for event in events[:-1]:
        assert not isinstance(event, Done | Failed), "something follows the end"
    for event in events:
        if isinstance(event, BlockStart):
            assert event.index not in kinds
            kinds[event.index], texts[event.index] = event.kind, ""
        elif isinstance(event, BlockDelta):
            assert kinds[event.index] == event.kind
            assert event.index not in ended
            assert event.text
            texts[event.index] += event.text
        elif isinstance(event, BlockEnd):
            assert event.index not in ended
            assert isinstance(event.block, _KINDS[kinds[event.index]])
            assert isinstance(event.block, ToolCall) or event.block.text == texts[event.index]
            ended.add(event.index)
    last = events[-1] if events else None
    assert isinstance(last, Done | Failed), "there is no end"
    assert isinstance(last, Failed) or ended == set(kinds), "an open block in a whole answer"


def assembled(assembler: Assembler, events: Iterable[object], *, name: str = "") -> list[StreamEvent]:
    """What an assembler makes of these data (bytes as they are, else JSON) and the end, checked."""
    made: list[StreamEvent] = []
    for data in events:
        raw = data if isinstance(data, bytes) else encode_json(data)
        made += assembler.feed(ServerEvent(name, raw))
    made += assembler.finish()
    check_stream(made)
    assert list(assembler.feed(ServerEvent(name, b"{}"))) == []
    assert list(assembler.finish()) == []
    return made


def blocks_of(events: Sequence[StreamEvent]) -> list[Text | Thinking | ToolCall]:
    """The whole blocks, in the order in which they began."""
    return [
        event.block for event in sorted((e for e in events if isinstance(e, BlockEnd)), key=lambda e: e.index)
    ]
