"""What a model is asked of a batch of notes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mewcode.infra.fence import fenced_data
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.dates import days_text, time_of
from mewcode.memory.entry import cut_bytes
from mewcode.memory.liveness import Dead
from mewcode.memory.names import one_line
from mewcode.memory.rules import origin_of
from mewcode.memory.tidy.batches import MOST_SHOWN, is_whole
from mewcode.memory.tidy.copy import Item

MOST_OUTPUT = 4_096
"""Tokens of an answer, thought included."""
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "do": {"type": "string", "enum": ["merge", "close", "shorten", "repair", "aliases"]},
                    "notes": _TEXTS,
                    "into": _TEXT,
                    "by": _TEXT,
                    "valid_to": _TEXT,
                    "description": _TEXT,
                    "body": _TEXT,
                    "aliases": _TEXTS,
                    "reason": _TEXT,
                },
                "required": ["do", "notes"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["changes"],
    "additionalProperties": False,
}


def tidy_words() -> str:
    """The system prompt."""
    return Path(__file__).with_name("tidy.md").read_text(encoding="utf-8").strip()


def labelled(batch: Sequence[Item]) -> dict[str, Item]:
    """The notes by the labels that a question gives them."""
    return {f"n{number}": item for number, item in enumerate(batch, 1)}


def tidy_question(items: Mapping[str, Item], now: float) -> str:
    """The notes, each with what is known of it."""
    today = dt.datetime.fromtimestamp(now).date().isoformat()
    notes = "\n\n".join(_shown(label, item, now) for label, item in items.items())
    return f"Today is {today}.\n\n{fenced_data('notes', notes)}"


def _shown(label: str, item: Item, now: float) -> str:
    note = item.note
    lines = [f"## {label}: {one_line(note.name)} [{note.type}]", ", ".join(_facts(item, now))]
    lines += [f"description: {one_line(note.description)}"] if note.description else []
    lines += [f"aliases: {', '.join(note.aliases)}"]
    if item.dead:
        lines.append(f"gone: {'; '.join(map(_gone, item.dead))}")
    body = note.body if is_whole(item) else f"{cut_bytes(note.body, MOST_SHOWN)}\n(cut: do not word it anew)"
    return "\n".join([*lines, "", body])


def _facts(item: Item, now: float) -> list[str]:
    origin = origin_of(item.entry)
    facts = ["the user's words" if origin == "user" else f"from {origin}"]
    changed = time_of(item.note.updated)
    facts += [f"{days_text(now - changed)} old"] if changed is not None else []
    if item.use.count:
        facts.append(f"used {item.use.count} times, last {days_text(now - item.use.last)} ago")
    facts += [f"true until {item.note.valid_to}"] if item.note.valid_to else []
    return [*facts, "pinned"] if item.note.pinned else facts


def _gone(dead: Dead) -> str:
    now = f", now {safe_line(dead.now)}" if dead.now else ""
    return f"{safe_line(dead.text)} ({dead.kind}{now})"
