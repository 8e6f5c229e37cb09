"""A conversation as a text to be summarized: bounded, as data. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from mewcode.context.results import results_of
from mewcode.context.shorten import both_ends
from mewcode.core.codec import encode_json
from mewcode.core.message import Image, Message, Text, ToolCall, ToolResult, text_of
from mewcode.infra.terminal_text import safe_text

Kind = Literal["user", "agent", "system", "call", "result", "failed"]

_GAP = 12
"""Tokens of the note on one gap."""
_HEAD = 1 / 8
"""The share of the beginning, where the middle is left out."""
_WORDS = 1 / 3
"""The share of the user's words."""
# Each piece begins with who says it; a text that tries to look like another's piece is marked.
_SPOOFED = r"(?m)^[ \t]*\[(?=(?:user|agent|system|call|result)\b)"

_STEPS: tuple[dict[Kind, int], ...] = (
    {"result": 4_000, "failed": 6_000, "call": 3_000, "system": 4_000, "agent": 8_000, "user": 24_000},
    {"result": 1_500, "failed": 3_000, "call": 1_200, "system": 1_500, "agent": 4_000, "user": 16_000},
    {"result": 500, "failed": 1_500, "call": 500, "system": 500, "agent": 2_000, "user": 8_000},
    {"result": 160, "failed": 600, "call": 240, "system": 160, "agent": 800, "user": 4_000},
)
"""Most characters of a text, tried in order until the whole fits: what can be had again first, what the user
said last."""


class _Piece(msgspec.Struct, frozen=True):
    """A text of a message; ``head`` says whose it is."""

    kind: Kind
    head: str
    text: str


def transcript(messages: Sequence[Message], tokens: Callable[[str], int], budget: int) -> str:
    """The messages as text of at most ``budget`` tokens as ``tokens`` counts them (and not below 100):
    results shortened first, then the middle left out, of which the user's words stay longest."""
    failed = {result.content.call_id for result in results_of(messages) if result.failed}
    pieces = [found for message in messages if (found := list(_pieces(message, failed)))]
    parts: list[str] = []
    for limits in _STEPS:
        parts = ["\n".join(_shown(piece, limits) for piece in found) for found in pieces]
        text = "\n\n".join(parts)
        if tokens(text) <= budget:
            return text
    words = [found[0].kind == "user" for found in pieces]
    return _without_middle(parts, words, [tokens(part) + 2 for part in parts], max(100, budget))


def _pieces(message: Message, failed: set[str]) -> Iterator[_Piece]:
    speaker: Kind = "system"
    if message.role == "assistant":
        speaker = "agent"
    elif message.is_said:
        speaker = "user"
    for block in message.content:
        if isinstance(block, Text) and block.text.strip():
            yield _Piece(speaker, f"[{speaker}] ", _clean(block.text, speaker))
        elif isinstance(block, Image):
            yield _Piece(speaker, f"[{speaker}] ", "(a picture)")
        elif isinstance(block, ToolCall):
            yield _Piece("call", f"[call] {block.name} ", _clean(encode_json(block.args).decode(), "call"))
        elif isinstance(block, ToolResult):
            kind: Kind = "failed" if block.call_id in failed else "result"
            head = "[result, failed] " if kind == "failed" else "[result] "
            yield _Piece(kind, head, _clean(text_of(block.content), kind) or "(nothing)")


def _clean(text: str, kind: Kind) -> str:
    """As much of a text as may be shown: safe, and without lines that look like another's piece. Secrets are
    looked for in the summary: the service has read the conversation itself."""
    safe = safe_text(both_ends(text, 2 * _STEPS[0][kind])).strip()
    return re.sub(_SPOOFED, "[quoted: ", safe)


def _shown(piece: _Piece, limits: dict[Kind, int]) -> str:
    return piece.head + both_ends(piece.text, limits[piece.kind])


def _without_middle(parts: Sequence[str], words: Sequence[bool], sizes: Sequence[int], budget: int) -> str:
    """The beginning, the end, and between them the user's words, the newest first, as there is room."""
    left = budget - 2 * _GAP
    kept: set[int] = set()
    backward = range(len(parts) - 1, -1, -1)
    left = _take(kept, range(len(parts)), sizes, left, int(left * _HEAD))
    left = _take(kept, [place for place in backward if words[place]], sizes, left, int(left * _WORDS))
    _take(kept, backward, sizes, left, left)
    return "\n\n".join(_with_gaps(parts, kept))


def _take(kept: set[int], places: Sequence[int], sizes: Sequence[int], left: int, share: int) -> int:
    """Keeps in this order what has room within ``share``, with a note for each gap it makes; what is left."""
    room = share
    for place in places:
        if place not in kept:
            cost = sizes[place] + (0 if {place - 1, place + 1} & kept else _GAP)
            if cost > room:
                break
            kept.add(place)
            room -= cost
    return left - (share - room)


def _with_gaps(parts: Sequence[str], kept: set[int]) -> Iterator[str]:
    gap = 0
    for place, part in enumerate(parts):
        if place in kept:
            if gap:
                yield f"({gap} messages are left out here)"
            yield part
            gap = 0
        else:
            gap += 1
    if gap:
        yield f"({gap} messages are left out here)"
