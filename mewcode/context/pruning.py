"""Old tool results that can be had again make room: a line each says what it was and how to get it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import msgspec

from mewcode.context.results import Result, is_replaced, line_for, results_of
from mewcode.core.message import Message, with_result_text

KEPT_RESULTS = 3
"""The last results, which are never left out."""
_WORTH = 60
"""Tokens that one replacement has to free."""


class Replacement(msgspec.Struct, frozen=True):
    """``text`` takes the place of the result that the message holds; that frees ``tokens``."""

    message_id: str
    text: str
    tokens: int = 0


def choose(
    messages: Sequence[Message], size: Callable[[Message], int], wanted: int, *, least: int = 0
) -> list[Replacement]:
    """What to leave out so that ``wanted`` tokens become free: first what was read or run again later, then
    the oldest; in the order of the messages. All there is, where that is less; nothing, where it is less than
    ``least``.

    Never the last three results, one that the model has not answered yet, one that is replaced already, or
    one that failed; but a command's that ended with an exit code goes where the same was run again later.
    Call it only where something is to be freed: it takes time in proportion to the messages.
    """
    results = results_of(messages)
    shielded = _shielded(messages)
    again: list[Result] = []
    once: list[Result] = []
    for result in results[: max(0, len(results) - KEPT_RESULTS)]:
        if result.place >= shielded or not result.can_be_had_again or is_replaced(result.message):
            continue
        if result.content.is_error or (result.failed and not result.is_superseded):
            continue
        (again if result.is_superseded else once).append(result)
    chosen: list[tuple[int, Replacement]] = []
    freed = 0
    for result in chain(again, once):
        if freed >= wanted:
            break
        text = line_for(result)
        gain = size(result.message) - size(with_result_text(result.message, text))
        if gain >= _WORTH:
            chosen.append((result.place, Replacement(result.message.id, text, gain)))
            freed += gain
    if freed < least:
        return []
    return [replacement for _, replacement in sorted(chosen, key=lambda item: item[0])]


def as_mapping(replacements: Iterable[Replacement]) -> dict[str, str]:
    """Text by message id, as a record keeps it."""
    return {replacement.message_id: replacement.text for replacement in replacements}


def apply(
    messages: Sequence[Message], replacements: Mapping[str, str] | Iterable[Replacement]
) -> list[Message]:
    """The messages with the named results replaced; all others are the same objects. Doing it twice changes
    nothing more."""
    texts = replacements if isinstance(replacements, Mapping) else as_mapping(replacements)
    return [
        with_result_text(message, texts[message.id])
        if message.role == "tool" and message.id in texts
        else message
        for message in messages
    ]


def _shielded(messages: Sequence[Message]) -> int:
    """The place from which on the model has not answered what it was told."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].role == "assistant":
            return place
    return 0
