"""Session files of Kimi CLI: ``~/.kimi/sessions/<folder>/<session>/context.jsonl``.

A line is a message in the manner of Chat Completions: ``role``, ``content`` (text, or parts of the types
``text``, ``think`` and ``image_url``), ``tool_calls`` with a ``function`` each, ``tool_call_id``. Roles that
begin with ``_`` are the program's own notes. What it tells the model stands in ``<system>``. The file holds
the conversation as the model sees it: after a compaction, or a way back, it is written anew. It knows no
times: those of the turns stand in ``wire.jsonl`` beside it, the user's title in ``state.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mewcode.core.message import Image, Message, Origin, Text, Thinking, ToolCall
from mewcode.sessions.import_blocks import (
    answer_of,
    call_of,
    image_at,
    object_in,
    objects_in,
    result_of,
    text_in,
    time_of,
    words_of,
)
from mewcode.sessions.import_source import Event, Lines, Original, Said

_CHECKPOINT = "<system>CHECKPOINT "
_COMPACTED = "<system>Previous context has been compacted."
_FAILED = "<system>ERROR"
_ADDED = ("<system>", "<system-reminder>")
_KEPT = 200
"""Characters of a turn's first words by which it is known again."""


class Beside(msgspec.Struct, frozen=True):
    """What other files say of a session. ``turns``: when each turn began and with which words, in order.
    ``changed``: Unix time of the last write."""

    id: str = ""
    title: str = ""
    turns: tuple[tuple[float, str], ...] = ()
    changed: float = 0.0


def read_turns(wire: Lines) -> tuple[tuple[float, str], ...]:
    """The turns that a ``wire.jsonl`` tells of. Raises what reading the lines does, else nothing."""
    turns = []
    for _, value in wire.values():
        message = object_in(value, "message")
        if message.get("type") in ("TurnBegin", "SteerInput"):
            words = _joined(_contents(object_in(message, "payload").get("user_input")))
            turns.append((time_of(value.get("timestamp")), words[:_KEPT]))
    return tuple(turns)


def read_kimi(lines: Lines, beside: Beside | None = None) -> Original:
    """The conversation as it stands. Raises what reading the lines does, else nothing."""
    known = beside or Beside()
    spoken = [_spoken_words(value) for _, value in lines.values() if value.get("role") == "user"]
    times = _match([words for words in spoken if words is not None], known.turns)
    began = known.turns[0][0] if known.turns else known.changed
    events = _events_of(lines, times, began)
    return Original("kimi", events, id=known.id, title=known.title, began=began, skipped=lines.skipped)


def _match(spoken: list[str], turns: tuple[tuple[float, str], ...]) -> list[float]:
    """When each of the user's messages was said, 0 where no turn has its words. The newest are the ones that
    are surely there, so the search begins at the end."""
    places: dict[str, list[int]] = {}
    for place, (_, words) in enumerate(turns):
        places.setdefault(words, []).append(place)
    times = [0.0] * len(spoken)
    reached = len(turns)
    for number in range(len(spoken) - 1, -1, -1):
        found = places.get(spoken[number], [])
        while found and found[-1] >= reached:
            found.pop()
        if found:
            reached = found.pop()
            times[number] = turns[reached][0]
    return times


def _events_of(lines: Lines, times: list[float], began: float) -> Callable[[], Iterator[Event]]:
    def events() -> Iterator[Event]:
        ts = began
        moments = iter(times)
        for _, value in lines.values():
            if value.get("role") == "user" and _spoken_words(value) is not None:
                ts = next(moments, 0.0) or ts
            message = _message(value)
            if message is not None:
                yield Said(message, ts)

    return events


def _spoken_words(value: dict[str, Any]) -> str | None:
    """The first words of what a person typed; None where nobody did."""
    words = _joined(_contents(value.get("content")))
    return None if not words or words.startswith(_ADDED) else words[:_KEPT]


def _message(value: dict[str, Any]) -> Message | None:
    role, content = value.get("role"), value.get("content")
    if role == "assistant":
        blocks = (*_answer(content), *_calls(value.get("tool_calls")))
        return answer_of(blocks, "") if blocks else None
    blocks_said = _contents(content)
    words = _joined(blocks_said)
    if role == "tool":
        return result_of(value.get("tool_call_id"), blocks_said, is_error=words.startswith(_FAILED))
    if role != "user" or not blocks_said or words.startswith(_CHECKPOINT):
        return None
    origin: Origin = "reminder" if words.startswith(_ADDED) else "user"
    return words_of(blocks_said, "compaction" if words.startswith(_COMPACTED) else origin)


def _answer(content: Any) -> Iterator[Text | Thinking]:
    for part in objects_in(content):
        if part.get("type") == "think":
            if thought := text_in(part, "think"):
                yield Thinking(thought)
        elif words := text_in(part, "text"):
            yield Text(words)


def _calls(value: Any) -> Iterator[ToolCall]:
    for call in objects_in(value):
        function = object_in(call, "function")
        if function:
            yield call_of(call.get("id"), function.get("name"), function.get("arguments"))


def _contents(value: Any) -> tuple[Text | Image, ...]:
    blocks: list[Text | Image] = []
    for part in objects_in(value):
        if part.get("type") == "image_url":
            blocks.append(image_at(object_in(part, "image_url").get("url")))
        elif words := text_in(part, "text"):
            blocks.append(Text(words))
        elif part.get("type") in ("audio_url", "video_url"):
            blocks.append(Text(f"[{str(part['type']).removesuffix('_url')}]"))
    return tuple(blocks)


def _joined(blocks: tuple[Text | Image, ...]) -> str:
    return "".join(block.text for block in blocks if isinstance(block, Text))
