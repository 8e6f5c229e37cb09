"""What is encoded for one request serves the next, and nothing in the body tells."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.codec import encode_json
from mewcode.core.message import Image, Message, MessagesSoFar, Text, Thinking, ToolCall, ToolResult
from mewcode.core.tool_spec import ToolSpec
from mewcode.providers.anthropic import AnthropicProtocol, build_body
from mewcode.providers.base import Endpoint, ModelRequest
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.history import EncodedHistory, Group, groups_of, is_blank
from mewcode.providers.openai_chat import OpenAIChatProtocol

ENDPOINTS = (Endpoint("http://h/v1", "k"), Endpoint("https://api.moonshot.ai/v1", "k"))
SPEC = ToolSpec("bash", "Runs a \ud800 command.", {"type": "object", "properties": {}})

_words = st.sampled_from(["", " \n", "a", "你好\u2028", "lone \ud800 half", '"messages":[]'])
_texts = st.builds(Text, _words)
_images = st.just(Image("image/png", "aGk="))
_thoughts = st.builds(
    Thinking,
    _words,
    st.sampled_from(["", "reasoning", "reasoning_content", "<think>"]),
    st.sampled_from(["openai", "anthropic"]),
    st.sampled_from(["", "opaque"]),
)
_ids = st.sampled_from("abcd")
_calls = st.builds(ToolCall, _ids, st.just("bash"), st.dictionaries(_words, st.sampled_from([1, 1.0, True])))
_results = st.builds(ToolResult, _ids, st.lists(_texts | _images, max_size=2).map(tuple), st.booleans())
_messages = st.one_of(
    st.builds(Message, _ids, st.just("user"), st.lists(_texts | _images, max_size=2).map(tuple)),
    st.builds(
        Message,
        _ids,
        st.just("assistant"),
        st.lists(_texts | _thoughts | _calls, max_size=3).map(tuple),
        st.just("model"),
        st.sampled_from(["m", "other"]),
    ),
    st.builds(Message, _ids, st.just("tool"), st.tuples(_results), st.just("tool")),
)
_edits = st.tuples(st.integers(0, 4), st.lists(_messages, max_size=4))
_models = st.builds(
    ModelInfo, name=st.sampled_from(["m", "other"]), vision=st.booleans(), thinking=st.just("budget")
)
_requests = st.lists(st.tuples(_edits, _models, st.sampled_from(ENDPOINTS)), min_size=1, max_size=6)


@pytest.mark.parametrize("protocol", [AnthropicProtocol, OpenAIChatProtocol])
@settings(max_examples=150, deadline=None)
@given(_requests, st.sampled_from([1, 2, 64]))
def test_a_protocol_that_remembers_sends_what_a_fresh_one_sends(protocol, requests, many: int) -> None:
    remembering = protocol()
    conversation: list[Message] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mewcode.providers.history._MANY", many)
        for (cut, more), model, endpoint in requests:
            if cut:
                conversation = conversation[: len(conversation) - cut]
            conversation += more
            request = ModelRequest(model, ("s", ""), MessagesSoFar(conversation), (SPEC,))
            sent = remembering.build(request, endpoint)
            alike = msgspec.structs.replace(request, messages=tuple(conversation))
            assert sent == protocol().build(alike, endpoint)
            if protocol is AnthropicProtocol:
                assert sent.body == encode_json(build_body(alike))


def user(text: str) -> Message:
    return Message("u", "user", (Text(text),))


def model(*blocks) -> Message:
    return Message("a", "assistant", tuple(Text(b) if isinstance(b, str) else b for b in blocks), "model")


def result(call: str) -> Message:
    return Message("t", "tool", (ToolResult(call, (Text("ok"),)),), "tool")


class _Encoder:
    """Counts how often it was asked for each message."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()

    def __call__(self, group: Group) -> bytes:
        self.asked.update(map(id, group.messages))
        return ",".join(message.text for message in group.messages).encode()


def test_each_message_is_encoded_once_in_a_session() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    conversation: list[Message] = []
    for turn in range(5):
        conversation.append(user(f"prompt {turn}"))
        for step in range(3):
            history.encode(tuple(conversation), "", encoder)
            calls = [ToolCall(f"{turn}{step}{n}", "bash", {}) for n in range(2)]
            conversation += [model("look", *calls), *(result(call.id) for call in calls)]
        history.encode(tuple(conversation), "", encoder)
        history.encode(tuple(conversation), "", encoder)  # sent again after a failure
        conversation.append(model("done"))
    assert len(encoder.asked) == len(conversation) - 1
    assert set(encoder.asked.values()) == {1}


def test_a_message_that_was_replaced_is_encoded_anew() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    old = (user("1"), model("2"), user("3"), model("4"), user("5"))
    new = (*old[:2], user("3"), *old[3:])
    history.encode(old, "", encoder)
    history.encode(new, "", encoder)
    assert [encoder.asked[id(message)] for message in new] == [1, 1, 1, 2, 2]
    history.encode(new, "another", encoder)
    assert [encoder.asked[id(message)] for message in new] == [2, 2, 2, 3, 3]


def test_a_group_that_loses_its_end_is_another() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    one, answer = user("1"), model("2")
    history.encode((one, answer, user("3")), "", encoder)
    assert history.encode((one, user("4")), "", encoder) == [b"1,4"]
    assert history.encode((one,), "", encoder) == [b"1"]


def test_a_lone_question_does_not_displace_a_conversation() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    long = (user("1"), model("2"), user("3"))
    history.encode(long, "", encoder)
    assert history.encode((user("aside"),), "", encoder) == [b"aside"]
    history.encode(long, "", encoder)
    assert [encoder.asked[id(message)] for message in long] == [1, 1, 1]


def test_however_long_a_conversation_is_it_is_held_in_few_pieces() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    conversation: list[Message] = []
    most = 0
    for turn in range(1_000):
        conversation += [user(f"prompt {turn}"), model("answer")]
        pieces = history.encode(MessagesSoFar(conversation), "", encoder)
        assert pieces[-2:] == [f"prompt {turn}".encode(), b"answer"]
        most = max(most, len(pieces))
    assert most < 64 + 10  # those that wait to be joined, and pieces each twice as large as the next
    assert b",".join(pieces) == ",".join(message.text for message in conversation).encode()
    assert set(encoder.asked.values()) == {1}
    assert sum(map(len, history._encoded)) + sum(len(piece.text) for piece in history._pieces) < len(
        b",".join(pieces)
    )


def test_one_that_went_back_far_is_sent_as_it_is_now() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    long = [message for turn in range(300) for message in (user(f"prompt {turn}"), model("answer"))]
    history.encode(tuple(long), "", encoder)
    for length in (599, 500, 131, 3):
        short = (*long[:length], user("other"))
        said = ",".join(message.text for message in short).encode()
        assert b",".join(history.encode(short, "", encoder)) == said
        assert b",".join(history.encode(short, "", encoder)) == said


def test_what_could_not_be_encoded_spoils_nothing() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    old = (user("1"), model("2"), user("3"), model("4"), user("5"))
    history.encode(old, "", encoder)

    def refuse(group: Group) -> bytes:
        if group.messages[0].text == "bad":
            raise RecursionError
        return encoder(group)

    with pytest.raises(RecursionError):
        history.encode((*old[:2], user("other"), model("bad")), "", refuse)
    assert history.encode(old, "", encoder) == [b"1", b"2", b"3", b"4", b"5"]


def test_what_is_no_longer_said_is_forgotten() -> None:
    history, encoder = EncodedHistory(), _Encoder()
    history.encode((user("1"), model("2"), user("3")), "", encoder)
    short = (user("4"), model("5"))
    history.encode(short, "", encoder)
    assert history._messages is short
    assert len(history._groups) == len(history._encoded) == 2


def test_what_says_nothing_parts_no_group() -> None:
    messages = (user("1"), model(Thinking("hm"), " "), user("2"), model("3"), user(" "), model("4"))
    groups = list(groups_of(messages))
    assert [[message.text for message in group.messages] for group in groups] == [["1", "2"], ["3", "4"]]
    assert [group.end for group in groups] == [3, 6]


@given(st.text(st.sampled_from(" \n\t\x1c\u00a0\u2028a\u200b中"), max_size=4))
def test_blank_is_what_nothing_is_left_of(text: str) -> None:
    assert is_blank(text) == (not text.strip())
