"""Which messages are worth looking through for notes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mewcode.core.message import Message

_BY_HAND = frozenset({"save_note", "forget_note"})
"""The tools with which a turn takes its notes itself."""


def prompts_in(messages: Iterable[Message]) -> int:
    """How often the user spoke."""
    return sum(message.is_said for message in messages)


def to_look_through(messages: Sequence[Message]) -> list[Message]:
    """The messages without the turns in which a note was kept or forgotten already, and without what stands
    for older messages."""
    found: list[Message] = []
    for turn in _turns(messages):
        if not _has_own_notes(turn):
            found += [message for message in turn if message.origin != "compaction"]
    return found


def without_last_turn(messages: Sequence[Message]) -> list[Message]:
    """The messages before the last thing that the user said."""
    return [message for turn in _turns(messages)[:-1] for message in turn]


def ended_by_itself(messages: Sequence[Message]) -> bool:
    """Whether a turn came to its answer: what stands last calls no tool, and nothing broke it off."""
    return bool(messages) and messages[-1].role == "assistant" and not messages[-1].tool_calls


def ask_for_a_look(texts: Iterable[str]) -> bool:
    """Whether words of the user's ask for something to be kept or forgotten, or correct what was done. The
    first time takes a tenth of a second: for a thread."""
    from mewcode.memory.extract.triggers import asks_to_forget, asks_to_note, is_correction

    return any(asks_to_note(text) or is_correction(text) or asks_to_forget(text) for text in texts)


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = [[]]
    for message in messages:
        if message.is_said:
            turns.append([])
        turns[-1].append(message)
    return [turn for turn in turns if turn]


def _has_own_notes(turn: Sequence[Message]) -> bool:
    done = {result.call_id for message in turn for result in message.tool_results if not result.is_error}
    return any(call.name in _BY_HAND and call.id in done for message in turn for call in message.tool_calls)
