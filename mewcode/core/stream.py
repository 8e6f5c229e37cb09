"""What a model's answer looks like while it arrives, the same for every provider.

Order: any number of blocks, each `BlockStart`, `BlockDelta`*, `BlockEnd`; `UsageReport` anywhere; then
exactly one `Done` or `Failed`, which is last. Blocks of different ``index`` may interleave.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mewcode.core.errors import ProviderError
from mewcode.core.message import Text, Thinking, ToolCall, Usage

BlockKind = Literal["text", "thinking", "tool_call"]
StopReason = Literal["end_turn", "tool_use", "max_tokens", "refusal", "pause", "context_window"]


class BlockStart(msgspec.Struct, frozen=True, tag="block_start", tag_field="type", omit_defaults=True):
    """``call_id`` and ``name`` are set for a tool call."""

    index: int
    kind: BlockKind
    call_id: str = ""
    name: str = ""


class BlockDelta(msgspec.Struct, frozen=True, tag="block_delta", tag_field="type"):
    """More of a block: text, thinking, or a piece of a tool call's arguments as JSON text."""

    index: int
    kind: BlockKind
    text: str


class BlockEnd(msgspec.Struct, frozen=True, tag="block_end", tag_field="type"):
    """The block as a whole."""

    index: int
    block: Text | Thinking | ToolCall


class UsageReport(msgspec.Struct, frozen=True, tag="usage", tag_field="type"):
    """The request's usage as known so far; a later report replaces an earlier one."""

    usage: Usage


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="type"):
    stop_reason: StopReason
    usage: Usage


class Failed(msgspec.Struct, frozen=True, tag="failed", tag_field="type"):
    error: ProviderError


StreamEvent = BlockStart | BlockDelta | BlockEnd | UsageReport | Done | Failed
