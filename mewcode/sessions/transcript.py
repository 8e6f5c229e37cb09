"""A conversation as a person reads it: who said what in which turn."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mewcode.core.codec import encode_json
from mewcode.core.message import Image, Message, Text, ToolCall, ToolResult, text_of
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.catalog_fold import SessionState, fold_line
from mewcode.sessions.reader import load_session

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
    """The conversation that leads to the last message of the session. Raises SessionError."""
    turn = 0
    spoken = []
    messages = load_session(folder).messages
    turns = _turns(folder)
    for message in messages:
        if message.role == "user" and message.origin == "user":
            turn = turns.get(message.id, turn + 1)
        text = _text(message)
        if text.strip():
            role = "reminder" if message.origin == "reminder" else message.role
            spoken.append(Spoken(turn, role, text, any(result.is_error for result in message.tool_results)))
    return spoken


def _turns(folder: Path) -> dict[str, int]:
    """The number of each user's message that has an id: its place among them in the file, so that it stays
    the same when the conversation goes back and on from an earlier one."""
    turns: dict[str, int] = {}
    seen: set[int] = set()
    state = SessionState()

    def is_new(key: int) -> bool:
        is_known = key in seen
        seen.add(key)
        return not key or not is_known

    with (folder / CONVERSATION).open("rb") as stream:
        for line in stream:
            before = state.turns
            for message in fold_line(state, line, is_new):
                if message.turn > before:
                    turns.setdefault(message.id, message.turn)
                    before = message.turn
    return turns


def _text(message: Message) -> str:
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
