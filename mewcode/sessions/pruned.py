"""Tool results of which the model sees a line alone, to save room. The archive keeps them whole. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mewcode.core.message import Message, with_result_text


def pruned_message(message: Message, replaced: Mapping[str, str]) -> Message:
    """The message as the model sees it. ``replaced``: lines by the ids of messages."""
    line = replaced.get(message.id)
    return message if line is None or message.role != "tool" else with_result_text(message, line)


def prune_messages(messages: Iterable[Message], replaced: Mapping[str, str]) -> tuple[Message, ...]:
    """`pruned_message` of each."""
    return tuple(pruned_message(message, replaced) for message in messages) if replaced else tuple(messages)


def read_replaced(value: Any) -> dict[str, str]:
    """The lines of a ``prune`` record, as far as they make sense: no service takes an empty one."""
    if not isinstance(value, dict):
        return {}
    return {
        name: text for name, text in value.items() if isinstance(text, str) and text and not text.isspace()
    }
