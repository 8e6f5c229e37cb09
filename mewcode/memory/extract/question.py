"""What a model is asked when notes are made out of a conversation."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mewcode.core.message import Message
from mewcode.core.tokens import text_tokens
from mewcode.infra.fence import fenced_data
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_text
from mewcode.memory.extract.cutting import cut_middle
from mewcode.memory.extract.records import MOST_SAID, Record, records_of, within_tags
from mewcode.memory.note import LEVELS, TYPES

MOST_TOKENS = 12_000
"""Tokens of the question at most, as `core.tokens.text_tokens` estimates them."""
_INDEX_TOKENS = 4_000
"""What the notes there are may always have of it."""
_EARLIER_TOKENS = 800
_EARLIER_MESSAGES = 6
_EARLIER_SAID = 500
"""Characters of a message that is there for context."""
_GAP = 14
"""Tokens of the words on one gap."""
_BESIDE = 3
"""Tokens that a piece has beyond its own: the blank line before it, and what the estimate rounds off."""
_STEPS = (
    {"user": MOST_SAID, "agent": 6_000, "tool": 600, "web": 600},
    {"user": MOST_SAID, "agent": 1_500, "tool": 400, "web": 400},
    {"user": MOST_SAID, "agent": 500, "tool": 200, "web": 200},
)
"""Most characters of a text, by whose it is, tried in order until all of it fits."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MOST_REPLY = 1_500
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_NOTE: dict[str, Any] = {
    "action": {"type": "string", "enum": ["create", "update", "supersede", "delete"]},
    "level": {"type": "string", "enum": list(LEVELS)},
    "type": {"type": "string", "enum": list(TYPES)},
    "name": _TEXT,
    "description": _TEXT,
    "body": _TEXT,
    "aliases": _TEXTS,
    "reason": _TEXT,
    "rests_on": _TEXTS,
    "file": _TEXT,
    "confidence": {"type": "number"},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "notes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": _NOTE,
                "required": list(_NOTE),
                "additionalProperties": False,
            },
        }
    },
    "required": ["notes"],
    "additionalProperties": False,
}
"""JSON schema of the answer. Everything is required, as services that hold to a schema want it; ``file`` is
"" for ``create``."""


@cache
def extraction_words() -> str:
    """The system prompt. Read at the first use."""
    return Path(__file__).with_name("extract.md").read_text(encoding="utf-8").strip()


def extraction_question(
    messages: Sequence[Message], index: str, today: dt.date, earlier: Sequence[Message] = ()
) -> str:
    """The text that goes with `extraction_words`, of at most `MOST_TOKENS`; "" where there is nothing to look
    at. ``messages``: the new ones, labelled ``m1``, ``m2``... so that the answer can name what it rests on.
    ``index``: the notes there are, as `NoteStore.prompt_text` gives them. ``earlier``: what was looked at
    before, for context only. Takes time in proportion to the messages; call it in a thread."""
    records = records_of(messages)
    if not records:
        return ""
    head = f"Today is {_DAYS[today.weekday()]}, {today.isoformat()}."
    before = _earlier(earlier)
    index = within_tags(redact(safe_text(index))).strip() or "(none yet)"
    closing = "Answer with the JSON object now."
    frame = [head, fenced_data("notes", ""), before, fenced_data("conversation", ""), closing]
    left = MOST_TOKENS - text_tokens("\n\n".join(filter(None, frame))) - 4 * _BESIDE
    wanted = sum(map(_size, _pieces(records, 0)))
    index = _first_lines(index, max(_INDEX_TOKENS, left - wanted))
    said = _fitting(records, left - text_tokens(index))
    parts = (head, fenced_data("notes", index), before, fenced_data("conversation", said), closing)
    return "\n\n".join(filter(None, parts))


def repair_question(question: str, reply: str, problems: Sequence[str]) -> str:
    """The text of the one retry after an answer that could not be read; about 600 tokens longer than the
    question."""
    listed = "\n".join(f"- {problem[:200]}" for problem in problems[:10])
    said = cut_middle(redact(safe_text(cut_middle(reply, 4 * _MOST_REPLY))), _MOST_REPLY)
    return (
        f"{question}\n\nYour last answer could not be used:\n{listed}\n\nIt was:\n"
        f"{fenced_data('last-answer', said or '(empty)')}\n\n"
        'Answer again, with the JSON object alone. Where there is nothing to note, that is {"notes": []}.'
    )


def _earlier(messages: Sequence[Message]) -> str:
    """The last words before, of the user and the agent."""
    last = [message for message in messages if message.role != "tool" and message.text.strip()]
    records = [
        record for record in records_of(last[-_EARLIER_MESSAGES:]) if record.origin in ("user", "agent")
    ]
    left, kept = _EARLIER_TOKENS, list[str]()
    for record in reversed(records):
        piece = f"{record.speaker}: {cut_middle(record.text, _EARLIER_SAID)}"
        left -= _size(piece)
        if left < 0:
            break
        kept.insert(0, piece)
    return fenced_data("earlier", "\n\n".join(kept)) if kept else ""


def _size(text: str) -> int:
    return text_tokens(text) + _BESIDE


def _first_lines(text: str, most: int) -> str:
    """The text's first lines, of at most so many tokens."""
    if text_tokens(text) <= most:
        return text
    lines, left = list[str](), most - _GAP
    for line in text.split("\n"):
        left -= text_tokens(line) + 2
        if left < 0:
            break
        lines.append(line)
    return "\n".join([*lines, "(the rest of the notes is left out here)"])


def _pieces(records: Sequence[Record], step: int) -> list[str]:
    limits = _STEPS[step]
    return [
        f"[{record.label}] {record.speaker}: {cut_middle(record.text, limits[record.origin])}"
        + (f"\n(this answers the assistant's question: {record.asked})" if record.asked else "")
        for record in records
    ]


def _fitting(records: Sequence[Record], room: int) -> str:
    """The records, of at most so many tokens: others' texts shortened first, then left out; the user's words
    have the first claim, the newest before all."""
    pieces: list[str] = []
    for step in range(len(_STEPS)):
        pieces = _pieces(records, step)
        if sum(map(_size, pieces)) <= room:
            return "\n\n".join(pieces)
    newest = range(len(records) - 1, -1, -1)
    kept: set[int] = set()
    left = room - 2 * _GAP
    for places in (
        [place for place in newest if records[place].origin == "user"],
        [place for place in newest if records[place].origin != "user"],
    ):
        for place in places:
            cost = _size(pieces[place]) + _GAP
            if cost > left and not kept:
                # The user's last message alone is longer than all there is room for.
                pieces[place] = _cut_to(pieces[place], left - _GAP - _BESIDE)
                cost = _size(pieces[place]) + _GAP
            if cost > left:
                break
            kept.add(place)
            left -= cost
    return "\n\n".join(_with_gaps(pieces, kept))


def _cut_to(text: str, tokens: int) -> str:
    """Both ends of a text, of at most so many tokens."""
    limit = len(text)
    while limit > 40 and (used := text_tokens(text)) > tokens:
        limit = max(40, min(limit - 1, limit * max(tokens, 1) // used))
        text = cut_middle(text, limit)
    return text


def _with_gaps(pieces: Sequence[str], kept: set[int]) -> Iterator[str]:
    gap = 0
    for place, piece in enumerate(pieces):
        if place not in kept:
            gap += 1
            continue
        if gap:
            yield f"({gap} messages are left out here)"
        yield piece
        gap = 0
    if gap:
        yield f"({gap} messages are left out here)"
