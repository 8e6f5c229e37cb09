"""Stream events out of Chat Completions chunks, in all the forms in which servers send them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mewcode.core.errors import StreamBroken
from mewcode.core.message import Usage
from mewcode.core.stream import BlockKind, Done, Failed, StopReason, StreamEvent, UsageReport
from mewcode.providers.assemble import AnswerAssembler, BlockAssembly, broke_off, data_of
from mewcode.providers.base import ServerEvent
from mewcode.providers.failures import error_in_stream
from mewcode.providers.inline_thinking import ThinkTagSplitter
from mewcode.providers.openai_calls import CallAssembly

# A thinking block's signature tells how the server sent it, which is how it gets it back: the name of a
# field, or this one for `providers.inline_thinking`.
THINK_TAG = "<think>"

# OpenAI's own words, then those of Mistral, OpenRouter, DeepSeek and Gemini. Any other word is a good end.
_STOP_REASONS: dict[str, StopReason] = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
}
_BROKEN = ("error", "network_error", "insufficient_system_resource", "abort")


class OpenAIChatAssembler(AnswerAssembler):
    """See `providers.base.Assembler`. The answer is whole when a finish reason has come; `Done` waits for
    the end of the stream, since the usage may follow."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks = BlockAssembly("openai")
        self._calls = CallAssembly(self._blocks, self._next_index)
        self._inline = ThinkTagSplitter()
        self._used = 0
        self._open: tuple[int, BlockKind, str] | None = None
        self._usage = Usage()
        self._finish = ""
        self._refused = False

    def _take(self, event: ServerEvent) -> Iterator[StreamEvent]:
        if event.data.strip() == b"[DONE]":
            yield from self._at_end()
            return
        data = data_of(event)
        choices = data.get("choices")
        if (error := _error_of(data, event.name)) is not None:
            yield Failed(error_in_stream(error))
            return
        yield from self._report(data)
        for choice in (choices or [])[:1]:
            yield from self._choice(choice)
        if event.name == "whole":
            # Complete as JSON, an answer is complete; one without a choice is none.
            self._finish = self._finish or ("stop" if choices else "")
            yield from self._at_end()

    def _choice(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        delta = choice.get("delta") or choice.get("message") or {}
        field, thought = _reasoning(delta)
        if thought:
            yield from self._add("thinking", thought, field)
        for kind, text in _parts(delta.get("content")):
            if kind == "thinking":
                yield from self._add("thinking", text, "content")
            else:
                for inner, piece in self._inline.feed(text):
                    yield from self._add(inner, piece, THINK_TAG)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refused = True
            yield from self._add("text", refusal)
        if calls := delta.get("tool_calls"):
            yield from self._close_text()
            for entry in calls if isinstance(calls, list) else [calls]:
                if isinstance(entry, dict):
                    yield from self._calls.take(entry)
        if reason := choice.get("finish_reason"):
            self._finish = str(reason).lower()

    def _add(self, kind: BlockKind, text: str, origin: str = "") -> Iterator[StreamEvent]:
        """Grows the open block, or closes it and opens one of another kind or origin."""
        if not text:
            return
        origin = origin if kind == "thinking" else ""
        if self._open is None or self._open[1:] != (kind, origin):
            yield from self._close_open()
            self._open = (self._next_index(), kind, origin)
            yield from self._blocks.start(self._open[0], kind)
            self._blocks.sign(self._open[0], origin)
        yield from self._blocks.add(self._open[0], text)

    def _close_open(self) -> Iterator[StreamEvent]:
        if self._open is not None:
            index, self._open = self._open[0], None
            yield from self._blocks.end(index)

    def _close_text(self) -> Iterator[StreamEvent]:
        for kind, text in self._inline.finish():
            yield from self._add(kind, text, THINK_TAG)
        yield from self._close_open()

    def _next_index(self) -> int:
        self._used += 1
        return self._used - 1

    def _at_end(self) -> Iterator[StreamEvent]:
        if not self._finish:
            yield broke_off()
        elif self._finish in _BROKEN:
            yield Failed(StreamBroken(f"the model's service broke off its answer ({self._finish})"))
        else:
            yield from self._close_text()
            yield from self._calls.end()
            yield Done(self._stop_reason(), self._usage)

    def _stop_reason(self) -> StopReason:
        if self._refused:
            return "refusal"
        reason = _STOP_REASONS.get(self._finish, "end_turn")
        return "tool_use" if reason == "end_turn" and self._calls else reason

    def _report(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        said = data.get("usage")
        for choice in data.get("choices") or []:
            said = said or choice.get("usage")  # Moonshot puts it there
        if isinstance(said, dict):
            usage = _usage(said)
            if usage != self._usage and usage != Usage():
                self._usage = usage
                yield UsageReport(usage)


def _error_of(data: dict[str, Any], name: str) -> object | None:
    """The error that an event holds in place of a chunk."""
    if error := data.get("error"):
        found: object = error
        return found
    if data.get("choices") is None and (
        name == "error" or "error" in (data.get("object"), data.get("type")) or data.get("code")
    ):
        return data
    return None


def _reasoning(delta: dict[str, Any]) -> tuple[str, str]:
    """Reasoning and the field it stands in; a server that fills two fills both with the same."""
    for field in ("reasoning_content", "reasoning"):
        value = delta.get(field)
        if isinstance(value, dict):
            value = value.get("text") or value.get("content")
        if isinstance(value, str) and value:
            return field, value
    for detail in delta.get("reasoning_details") or []:
        if isinstance(detail, dict) and isinstance(text := detail.get("text"), str) and text:
            return "reasoning", text
    return "", ""


def _parts(content: object) -> Iterator[tuple[BlockKind, str]]:
    """The text of a content field: none, a string, or parts (Mistral sends thinking as one of them)."""
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, str):
                yield "text", part
            elif isinstance(part, dict) and "thinking" in part:
                for _, text in _parts(part["thinking"]):
                    yield "thinking", text
            elif isinstance(part, dict) and isinstance(part.get("text"), str):
                yield "text", part["text"]


def _usage(said: dict[str, Any]) -> Usage:
    """``prompt_tokens`` counts cached tokens in. OpenAI tells them in the details, DeepSeek beside them."""
    prompt = _count(said.get("prompt_tokens"))
    details = said.get("prompt_tokens_details") or {}
    cached = _count(details.get("cached_tokens") if isinstance(details, dict) else None)
    cached = cached or _count(said.get("prompt_cache_hit_tokens")) or _count(said.get("cached_tokens"))
    cached = min(cached, prompt)
    return Usage(prompt - cached, _count(said.get("completion_tokens")), cached)


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0
