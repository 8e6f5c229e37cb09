"""A conversation as a person reads it: who said what in which turn."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mewcode.core.codec import encode_json
from mewcode.core.message import Image, Message, Text, ToolCall, ToolResult, text_of
from mewcode.sessions.reader import load_history

_ARGS_LIMIT = 2_000


class Spoken(msgspec.Struct, frozen=True):
    """``turn``: the user's message's number in the file, from 1; 0 before the first. ``role``: user,
    assistant, tool, or ``reminder`` for what the program added. ``text`` in Markdown where a model wrote
    it."""

    turn: int
    role: str
    text: str
    is_error: bool = False


def read_transcript(folder: Path) -> list[Spoken]:
    """The conversation that leads to the last message of the session, also what was compacted since. Raises
    SessionError."""
    turn = 0
    spoken = []
    loaded = load_history(folder)
    for message in loaded.messages:
        if message.is_said:
            turn = loaded.turn_of.get(message.id, turn)
        text = message_text(message)
        if text.strip():
            role = "reminder" if message.origin in ("reminder", "recall") else message.role
            spoken.append(Spoken(turn, role, text, any(result.is_error for result in message.tool_results)))
    return spoken


def message_text(message: Message) -> str:
    """All that a message holds, as text; a call of a tool in brackets."""
    parts = []
    for block in message.content:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, Image):
            parts.append("[image]")
        elif isinstance(block, ToolCall):
            args = encode_json(block.args).decode()
            shown = args if len(args) <= _ARGS_LIMIT else args[:_ARGS_LIMIT] + "…"
            parts.append(f"[{block.name} {shown}]")
        elif isinstance(block, ToolResult):
            parts.append(text_of(block.content))
    return "\n".join(parts)
