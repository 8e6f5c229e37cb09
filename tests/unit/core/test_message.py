"""Messages as values."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage, text_of
from mewcode.core.outcome import ToolOutcome

PICTURE = Image("image/png", "aGk=")
CALL = ToolCall("c1", "bash", {"command": "ls"})
RESULT = ToolResult("c1", (Text("out"), PICTURE), True)
EVERYTHING = Message(
    "m1",
    "assistant",
    (Thinking("hm", "sig", "anthropic"), Text("a"), CALL, Text("b"), RESULT, PICTURE),
    "model",
    "a-model",
    Usage(1, 2, 3, 4),
    {"key": [1, None, "x"]},
)


def test_what_a_message_holds() -> None:
    assert EVERYTHING.text == "ab"
    assert EVERYTHING.tool_calls == (CALL,)
    assert EVERYTHING.tool_results == (RESULT,)
    empty = Message("m", "user", ())
    assert (empty.text, empty.tool_calls, empty.tool_results, empty.usage) == ("", (), (), None)


def test_a_message_comes_back_from_json_as_it_was() -> None:
    data = msgspec.json.encode(EVERYTHING)
    assert msgspec.json.decode(data, type=Message) == EVERYTHING


def test_what_is_default_is_not_written() -> None:
    assert msgspec.json.encode(Message("m", "user", (Text("x"),))) == (
        b'{"id":"m","role":"user","content":[{"type":"text","text":"x"}]}'
    )


@pytest.mark.parametrize("value", [EVERYTHING, CALL, RESULT, PICTURE, Usage(1)])
def test_values_do_not_change(value: msgspec.Struct) -> None:
    field = value.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(value, field, "other")


def test_the_text_of_a_result() -> None:
    assert text_of((Text("a"), PICTURE, Text("b"))) == "a\n[image]\nb"
    assert text_of(()) == ""


def test_an_outcome_of_text() -> None:
    assert ToolOutcome.text("x", is_error=True) == ToolOutcome((Text("x"),), None, True)


COUNTS = st.builds(Usage, *(st.integers(0, 10**9) for _ in range(4)))


@given(COUNTS, COUNTS, COUNTS)
def test_usage_adds_up(one: Usage, two: Usage, three: Usage) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Usage() == one
    assert (one + two).context_tokens == one.context_tokens + two.context_tokens
    assert sum([one, two, three], Usage()) == one + two + three
