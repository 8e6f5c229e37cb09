"""The messages of a conversation, as they come and go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mewcode.agent.conversation import Conversation, NoArchive, new_message
from mewcode.core.message import Message, Text


def said(text: str) -> Message:
    return new_message("user", (Text(text),), "user")


def texts(messages) -> list[str]:
    return [message.text for message in messages]


@pytest.mark.parametrize("change", [Conversation.go_back, Conversation.begin_anew, Conversation.shorten])
def test_what_a_request_was_made_of_stays_whatever_becomes_of_the_conversation(
    change: Callable[[Conversation, list[Message]], None],
) -> None:
    conversation = Conversation(NoArchive(), [said("one"), said("two")])
    before = conversation.so_far()
    conversation.add(said("three"), lambda event: None)
    assert texts(before) == ["one", "two"]
    assert conversation.so_far().goes_on(before)
    change(conversation, [*conversation.messages[:1], said("other")])
    conversation.add(said("more"), lambda event: None)
    assert texts(before) == ["one", "two"]
    assert texts(conversation.messages) == texts(conversation.so_far()) == ["one", "other", "more"]
    assert not conversation.so_far().goes_on(before)
