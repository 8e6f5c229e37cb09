"""What a model is asked that chooses among notes, and what it answered. Pure but for its words, read once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mewcode.infra.fence import fenced_data
from mewcode.infra.redact import redact
from mewcode.memory.dates import time_of
from mewcode.memory.entry import Entry
from mewcode.memory.extract.cutting import cut_middle

MOST_LISTED = 200
MOST_CHOSEN = 5
_MOST_SAID = 4_000
"""Characters of what the user said."""
_MOST_ANSWER = 20_000
_MOST_TRIED = 50
"""Brackets of an answer that may begin the list."""
_DAY = 86_400.0
_KEY = re.compile(r"selected_memories[\"'”]?\s*[:=]\s*")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"selected_memories": {"type": "array", "items": {"type": "string"}}},
    "required": ["selected_memories"],
    "additionalProperties": False,
}


def selection_words() -> str:
    """The system prompt."""
    return Path(__file__).with_name("selection.md").read_text(encoding="utf-8").strip()


def selection_question(said: str, entries: Sequence[Entry], now: float) -> str:
    """What the user said and the notes to choose from, of which `MOST_LISTED` are listed."""
    lines = [_line(entry, now) for entry in entries[:MOST_LISTED]]
    asked = cut_middle(redact(said), _MOST_SAID)
    return f"{fenced_data('said', asked)}\n\n{fenced_data('notes', chr(10).join(lines))}"


def _line(entry: Entry, now: float) -> str:
    changed = time_of(entry.updated or entry.created)
    days = max(0, int((now - changed) // _DAY)) if changed is not None else None
    ages = {None: "age unknown", 0: "of today", 1: "1 day old"}
    age = ages.get(days, f"{days} days old")
    line = f": {entry.line}" if entry.line else ""
    return f"- {entry.file} [{entry.type}] {entry.name}{line} ({age}, {entry.level})"


def read_selection(answer: str, entries: Sequence[Entry]) -> list[Entry] | None:
    """Those of the notes that the answer names, at most `MOST_CHOSEN`; None where it holds no list. Whatever
    else it names is left out. Raises nothing."""
    chosen: dict[str, Entry] = {}
    for items in _lists(answer[:_MOST_ANSWER]):
        for item in items:
            for entry in _named(item, entries):
                chosen.setdefault(f"{entry.level}/{entry.file}", entry)
        return list(chosen.values())[:MOST_CHOSEN]
    return None


def _lists(text: str) -> Iterator[list[object]]:
    """The list under the key that was asked for; else any list."""
    decoder = json.JSONDecoder(strict=False)
    named = [found.end() for found in _KEY.finditer(text)]
    others = [found.start() for found in re.finditer(r"\[", text)]
    for place in (*named[:_MOST_TRIED], *others[:_MOST_TRIED]):
        try:
            value, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list):
            yield value


def _named(item: object, entries: Sequence[Entry]) -> list[Entry]:
    if isinstance(item, dict):
        item = item.get("file") or item.get("name")
    if not isinstance(item, str):
        return []
    wanted = item.strip()
    found = [entry for entry in entries if wanted in (entry.file, f"{entry.level}/{entry.file}")]
    return found or [entry for entry in entries if entry.name == wanted]
