"""What a window is filled with: tokens by part, and what would free most. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from mewcode.context.meter import TokenMeter
from mewcode.context.results import COMMANDS, PAGES, READING, SEARCHING, Result, is_replaced, results_of
from mewcode.context.sizes import Size, size_of_block, size_of_text, size_of_tool
from mewcode.context.thresholds import Thresholds
from mewcode.core.message import Message, Text, Thinking, ToolCall, ToolResult
from mewcode.core.tool_spec import ToolSpec

Group = Literal["system", "tools", "messages"]
MCP_PREFIX = "mcp__"
"""What the names of tools of MCP servers begin with: ``mcp__server__tool``."""

_LARGEST = 3
_WORTH_NAMING = 200
"""Tokens below which nothing is worth a word."""
_WRITTEN = {"instructions": "shorten the instruction files", "memory": "tidy the notes"}
"""System modules that people write."""


class Part(msgspec.Struct, frozen=True):
    """``name`` such as "instructions" or "files read"; parts of no tokens are left out."""

    group: Group
    name: str
    tokens: int


class Freeable(msgspec.Struct, frozen=True):
    """What would free so many tokens, and how."""

    name: str
    tokens: int
    advice: str


class Parts(msgspec.Struct, frozen=True):
    """All in tokens. ``used + free + headroom + reserve`` is the ``window`` (less where ``used`` is more):
    ``reserve`` is kept for the answer, ``headroom`` lies between the point of compaction and that, ``free``
    is what may come before the conversation is compacted. ``prune_at``, ``prepare_at`` and ``compact_at`` are
    counted from 0 on, as ``used`` is."""

    model: str
    window: int
    parts: tuple[Part, ...]
    used: int
    free: int
    headroom: int
    reserve: int
    prune_at: int
    prepare_at: int
    compact_at: int
    largest: tuple[Freeable, ...]

    @property
    def fixed(self) -> int:
        """What stands before the messages."""
        return sum(part.tokens for part in self.parts if part.group != "messages")

    @property
    def share(self) -> float:
        """The share of the window that is used."""
        return self.used / self.window if self.window > 0 else 1.0


def measure(
    meter: TokenMeter,
    model: str,
    thresholds: Thresholds,
    modules: Mapping[str, str],
    tools: Sequence[ToolSpec],
    messages: Sequence[Message],
    *,
    total: int | None = None,
    warm: bool = False,
) -> Parts:
    """What the window holds. ``modules``: the system prompt's texts by name, in their order. ``total``: what
    `TokenMeter.conversation` says of all of it; the parts are scaled to it. Takes time in proportion to the
    conversation: call it when somebody looks."""
    sizes: dict[tuple[Group, str], Size] = {}

    def add(group: Group, name: str, size: Size) -> None:
        sizes[group, name] = sizes.get((group, name), Size()) + size

    for name, text in modules.items():
        add("system", name, size_of_text(text))
    for tool in tools:
        add("tools", "MCP tools" if tool.name.startswith(MCP_PREFIX) else "tools", size_of_tool(tool))
    results = {result.content.call_id: result for result in results_of(messages)}
    for message in messages:
        for name, size in _pieces(message, results):
            add("messages", name, size)
    estimates = {key: meter.tokens(model, size) for key, size in sizes.items()}
    scale = total / sum(estimates.values()) if total and sum(estimates.values()) else 1.0
    parts = _scaled(estimates, scale)
    used = sum(part.tokens for part in parts)
    reserve = thresholds.output_reserve
    return Parts(
        model,
        thresholds.window,
        parts,
        used,
        max(0, thresholds.compact_at - used),
        max(0, thresholds.window - reserve - max(used, thresholds.compact_at)),
        reserve,
        thresholds.prune_at(warm=warm),
        thresholds.prepare_at,
        thresholds.compact_at,
        _largest(meter, model, modules, tools, tuple(results.values()), scale),
    )


def _pieces(message: Message, results: Mapping[str, Result]) -> Iterator[tuple[str, Size]]:
    """The kinds of what a message holds, with their sizes."""
    said = _kind_of(message)
    yield said if message.role != "tool" else "other results", Size(messages=1)
    for block in message.content:
        if isinstance(block, Text):
            yield "reminders" if message.role == "tool" else said, size_of_block(block)
        elif isinstance(block, Thinking):
            yield "thinking", size_of_block(block)
        elif isinstance(block, ToolCall):
            yield "tool calls", size_of_block(block)
        elif isinstance(block, ToolResult):
            result = results.get(block.call_id)
            yield kind_of_result(result.call.name) if result else "other results", size_of_block(block)
        else:
            yield said, size_of_block(block)


def _kind_of(message: Message) -> str:
    if message.role == "assistant":
        return "assistant"
    kinds = {"reminder": "reminders", "recall": "recalled notes", "compaction": "summary"}
    return kinds.get(message.origin, "user")


def kind_of_result(tool: str) -> str:
    """The part to which results of a tool belong."""
    kinds = (
        (READING, "files read"),
        (SEARCHING, "searches"),
        (COMMANDS, "command output"),
        (PAGES, "web pages"),
    )
    return next((kind for tools, kind in kinds if tool in tools), "other results")


def _scaled(estimates: Mapping[tuple[Group, str], float], scale: float) -> tuple[Part, ...]:
    """Whole numbers whose sum is the whole sum's: each takes what the ones before it were rounded by."""
    parts: list[Part] = []
    exact, given = 0.0, 0
    for (group, name), tokens in estimates.items():
        exact += tokens * scale
        rounded = round(exact) - given
        given += rounded
        if rounded > 0:
            parts.append(Part(group, name, rounded))
    return tuple(parts)


def _largest(
    meter: TokenMeter,
    model: str,
    modules: Mapping[str, str],
    tools: Sequence[ToolSpec],
    results: Sequence[Result],
    scale: float,
) -> tuple[Freeable, ...]:
    """The three things that would free most: results that stand in full, tools of MCP servers, written parts
    of the prompt."""
    found: Counter[tuple[str, str]] = Counter()
    for name, advice in _WRITTEN.items():
        if text := modules.get(name):
            found[name, advice] += round(scale * meter.text(model, text))
    for tool in tools:
        if tool.name.startswith(MCP_PREFIX):
            server = tool.name.removeprefix(MCP_PREFIX).partition("__")[0]
            tokens = round(scale * meter.tokens(model, size_of_tool(tool)))
            found[f"MCP server {server}", "turn off the server where it is not needed"] += tokens
    for result in results:
        if not is_replaced(result.message):
            advice = "left out when room is needed" if result.can_be_had_again else "goes with a compaction"
            found[result.label, advice] += round(scale * meter.message(model, result.message))
    return tuple(
        Freeable(name, tokens, advice)
        for (name, advice), tokens in found.most_common(_LARGEST)
        if tokens >= _WORTH_NAMING
    )
