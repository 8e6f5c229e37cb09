"""Answers of Chat Completions, put together from chunks in every form that servers give them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import BadRequest, Overloaded, StreamBroken
from mewcode.core.message import Text, Thinking, ToolCall, Usage
from mewcode.core.stream import BlockDelta, BlockEnd, Done, Failed, UsageReport
from mewcode.providers.openai_assembler import OpenAIChatAssembler
from tests.support.chat_chunks import DONE, chunk, item
from tests.support.stream_order import assembled, blocks_of


def run(*events):
    return assembled(OpenAIChatAssembler(), events)


def test_a_whole_answer() -> None:
    events = run(
        chunk(role="assistant", content=""),
        chunk(reasoning_content="I "),
        chunk(reasoning_content="think"),
        chunk(content="Hel"),
        chunk(content="lo"),
        chunk(tool_calls=[item("", index=0, ident="call_1", name="bash")]),
        chunk(tool_calls=[item('{"command":', index=0)]),
        chunk(tool_calls=[item(' "ls"}', index=0)]),
        chunk("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
        DONE,
    )
    thinking, text, call = blocks_of(events)
    assert thinking == Thinking("I think", "reasoning_content", "openai")
    assert text == Text("Hello")
    assert (call.name, call.args) == ("bash", {"command": "ls"})
    assert call.id != "call_1"
    assert events[-1] == Done("tool_use", Usage(10, 5))
    assert [event.text for event in events if isinstance(event, BlockDelta)] == [
        "I ", "think", "Hel", "lo", '{"command":', ' "ls"}',
    ]  # fmt: skip


def test_cut_arguments_are_no_call() -> None:
    for finish in ("length", "stop"):
        events = run(
            chunk(tool_calls=[item('{"command": "rm -rf /tm', index=0, name="bash")]), chunk(finish), DONE
        )
        (call,) = blocks_of(events)
        assert call.args == {}
        assert call.invalid.startswith('{"command"')


def test_calls_end_after_the_finish_in_the_order_in_which_they_began() -> None:
    events = run(
        chunk(tool_calls=[item("{", index=1, ident="b", name="y"), item("{", index=0, ident="a", name="x")]),
        chunk(tool_calls=[item("}", index=0), item("}", index=1)]),
        chunk("tool_calls"),
        DONE,
    )
    assert [event.block.name for event in events if isinstance(event, BlockEnd)] == ["y", "x"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, []),
        ("", []),
        ([], []),
        ("hi", [Text("hi")]),
        ([{"type": "text", "text": "h"}, {"type": "text", "text": "i"}], [Text("hi")]),
        (["h", "i"], [Text("hi")]),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "hi"},
            ],
            [Thinking("hm", "content", "openai"), Text("hi")],
        ),
        ([{"type": "surprise"}, {"type": "text", "text": None}], []),
    ],
)
def test_content_in_every_form(content: object, expected: list) -> None:
    assert blocks_of(run(chunk(content=content), chunk("stop"), DONE)) == expected


@pytest.mark.parametrize(
    ("delta", "field"),
    [
        ({"reasoning_content": "hm"}, "reasoning_content"),
        ({"reasoning": "hm"}, "reasoning"),
        ({"reasoning": {"text": "hm"}}, "reasoning"),
        ({"reasoning": {"content": "hm"}}, "reasoning"),
        ({"reasoning_content": "hm", "reasoning": "hm"}, "reasoning_content"),
        ({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "reasoning"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "reasoning"),
        ({"reasoning_content": "", "content": "<think>hm</think>"}, "<think>"),
    ],
)
def test_reasoning_in_every_form(delta: dict, field: str) -> None:
    events = run(chunk(**delta), chunk(content="hi"), chunk("stop"), DONE)
    assert blocks_of(events) == [Thinking("hm", field, "openai"), Text("hi")]


def test_text_and_reasoning_that_alternate_are_blocks_of_their_own() -> None:
    events = run(
        chunk(reasoning="a"),
        chunk(content="b"),
        chunk(reasoning="c"),
        chunk(content="d"),
        chunk("stop"),
        DONE,
    )
    assert [block.text for block in blocks_of(events)] == ["a", "b", "c", "d"]


def test_blanks_ahead_of_a_call_are_no_text() -> None:
    events = run(chunk(content="\n\n"), chunk(tool_calls=[item("{}", name="x")]), chunk("stop"), DONE)
    assert [type(block) for block in blocks_of(events)] == [ToolCall]


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("stop", "end_turn"), ("length", "max_tokens"), ("max_tokens", "max_tokens"),
        ("model_length", "max_tokens"), ("content_filter", "refusal"), ("SAFETY", "refusal"),
        ("tool_calls", "end_turn"), ("function_call", "end_turn"), ("eos", "end_turn"),
        ("end_turn", "end_turn"),
    ],
)  # fmt: skip
def test_finish_reasons(said: str, ours: str) -> None:
    assert run(chunk(content="x"), chunk(said), DONE)[-1].stop_reason == ours


def test_a_refusal_in_a_field_of_its_own() -> None:
    events = run(chunk(refusal="I can"), chunk(refusal="not"), chunk("stop"), DONE)
    assert blocks_of(events) == [Text("I cannot")]
    assert events[-1].stop_reason == "refusal"


def test_the_end_may_come_in_different_ways_once_the_reason_is_there() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    for end in ([DONE], [], [usage], [usage, DONE], [b" [DONE] "]):
        last = run(chunk(content="x"), chunk("stop"), *end)[-1]
        assert last == Done("end_turn", Usage(1, 1) if usage in end else Usage())


def test_without_a_reason_the_answer_broke_off() -> None:
    for events in (
        [],
        [DONE],
        [chunk(content="x")],
        [chunk(content="x"), DONE],
        [chunk("", content="x"), DONE],
    ):
        last = run(*events)[-1]
        assert isinstance(last, Failed)
        assert isinstance(last.error, StreamBroken)


@pytest.mark.parametrize("finish", ["error", "network_error", "insufficient_system_resource"])
def test_some_reasons_are_failures(finish: str) -> None:
    assert isinstance(run(chunk(content="x"), chunk(finish), DONE)[-1], Failed)


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 5}, Usage(100, 5)),
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}},
            Usage(40, 5, 60),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 60}, Usage(40, 5, 60)),
        ({"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 60}, Usage(40, 5, 60)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}, Usage(0, 0, 10)),
        ({"prompt_tokens": 10, "completion_tokens": None, "prompt_tokens_details": None}, Usage(10)),
        ({"prompt_tokens": -1, "completion_tokens": "x"}, Usage()),
        ({}, Usage()),
    ],
)
def test_usage(said: dict, usage: Usage) -> None:
    for events in (
        [chunk("stop", usage=said), DONE],
        [chunk("stop"), {"choices": [], "usage": said}, DONE],
        [chunk("stop"), {"usage": said}, DONE],
        [{"choices": [{"delta": {}, "finish_reason": "stop", "usage": said}]}, DONE],
        [chunk(usage=said), chunk("stop", usage=said), DONE],
    ):
        made = run(*events)
        assert made[-1].usage == usage
        assert len([event for event in made if isinstance(event, UsageReport)]) == (usage != Usage())


def test_what_is_no_chunk_is_passed_over() -> None:
    events = run(
        {"choices": [], "prompt_filter_results": []}, {"object": "surprise"},
        {"choices": None}, {"error": None},
        chunk(content="x"), chunk("stop"), DONE,
    )  # fmt: skip
    assert blocks_of(events) == [Text("x")]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"error": {"message": "x", "type": "server_error"}}, Overloaded),
        ({"error": {"message": "x", "code": 502}}, Overloaded),
        ({"error": "x"}, StreamBroken),
        ({"object": "error", "message": "x", "type": "BadRequestError", "code": 400}, BadRequest),
        ({"code": 500, "message": "x"}, Overloaded),
        ({"choices": [], "error": {"message": "x", "type": "server_error"}}, Overloaded),
    ],
)
def test_errors_within_the_stream(data: dict, kind: type) -> None:
    last = run(chunk(content="x"), data)[-1]
    assert type(last.error) is kind


def test_an_answer_that_is_not_streamed() -> None:
    message = {
        "role": "assistant", "content": "Hello", "reasoning_content": "hm", "refusal": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "x", "arguments": '{"n":1}'}},
            {"id": "b", "type": "function", "function": {"name": "x", "arguments": {"n": 2}}},
        ],
    }  # fmt: skip
    whole = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    events = assembled(OpenAIChatAssembler(), [whole], name="whole")
    thinking, text, *calls = blocks_of(events)
    assert (thinking.text, text.text) == ("hm", "Hello")
    assert [call.args for call in calls] == [{"n": 1}, {"n": 2}]
    assert events[-1] == Done("tool_use", Usage(3, 4))
    whole["choices"] = [{"message": {"content": "Hello"}}]
    assert isinstance(assembled(OpenAIChatAssembler(), [whole], name="whole")[-1], Done)
    error = {"error": {"message": "x", "type": "server_error"}}
    assert isinstance(assembled(OpenAIChatAssembler(), [error], name="whole")[-1], Failed)
    assert isinstance(assembled(OpenAIChatAssembler(), [b'{"choices": ['], name="whole")[-1], Failed)
    assert isinstance(assembled(OpenAIChatAssembler(), [{"choices": []}], name="whole")[-1], Failed)


def test_what_cannot_be_read_is_a_failure() -> None:
    for junk in (b"{", b"\xff", b"[]", b"null", {"choices": 7}, {"choices": ["x"]}, chunk(tool_calls=7)):
        last = run(chunk(content="x"), junk, chunk("stop"), DONE)[-1]
        assert isinstance(last, Failed) or junk == chunk(tool_calls=7)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text("ab{}[<", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(
            ["index", "id", "function", "name", "arguments", "text", "thinking", "content", "code", "message"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=8,
)  # fmt: skip
_DELTA = st.dictionaries(
    st.sampled_from(
        ["content", "reasoning", "reasoning_content", "reasoning_details", "tool_calls", "refusal"]
    ),
    _JSON,
)
_CHUNK = st.builds(
    lambda delta, finish, more: {**more, "choices": [{"delta": delta, "finish_reason": finish}]},
    _DELTA,
    st.sampled_from([None, "stop", "length", "error"]) | _JSON,
    st.dictionaries(st.sampled_from(["usage", "error", "object", "code"]), _JSON),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(_CHUNK | _JSON | st.just(DONE), max_size=8))
def test_whatever_comes_makes_an_order_and_an_end(events: list) -> None:
    run(*events)
