"""Stream events out of the Messages API's server events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mewcode.core.codec import encode_json
from mewcode.core.message import Usage
from mewcode.core.stream import Done, Failed, StopReason, StreamEvent, UsageReport
from mewcode.providers.assemble import AnswerAssembler, BlockAssembly, broke_off, data_of
from mewcode.providers.base import ServerEvent
from mewcode.providers.failures import error_in_stream

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context_window",
}


class AnthropicAssembler(AnswerAssembler):
    """See `providers.base.Assembler`."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks = BlockAssembly("anthropic")
        # Some imitations give every block the index 0, one after the other: ours count on.
        self._index_of: dict[int, int] = {}
        self._used = 0
        self._usage = Usage()
        self._stop: StopReason | None = None

    def _take(self, event: ServerEvent) -> Iterator[StreamEvent]:
        data = data_of(event)
        kind = str(data.get("type") or event.name)
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
                yield broke_off()
            else:
                yield Done(self._stop, self._usage)
        elif kind == "error":
            yield Failed(error_in_stream(data.get("error")))
        elif kind == "message":
            yield from self._whole(data)

    def _at_end(self) -> Iterator[StreamEvent]:
        yield broke_off()

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
