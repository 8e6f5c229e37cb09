"""Answers of the Messages API, put together from its events."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import Overloaded, StreamBroken
from mewcode.core.message import Text, Thinking, ToolCall, Usage
from mewcode.core.stream import Done, Failed, UsageReport
from mewcode.providers.anthropic_assembler import AnthropicAssembler
from tests.support.stream_order import assembled, blocks_of

START = {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}
STOP = {"type": "message_stop"}


def start(index: int, **block) -> dict:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **what) -> dict:
    return {"type": "content_block_delta", "index": index, "delta": what}


def stop(index: int) -> dict:
    return {"type": "content_block_stop", "index": index}


def end(reason: str | None = "end_turn", **usage) -> dict:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def text(index: int, words: str) -> list[dict]:
    return [start(index, type="text", text=""), delta(index, type="text_delta", text=words), stop(index)]


def run(*events):
    return assembled(AnthropicAssembler(), events)


def test_a_whole_answer() -> None:
    events = run(
        START,
        {"type": "ping"},
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="hm"),
        delta(0, type="signature_delta", signature="sig"),
        stop(0),
        start(1, type="redacted_thinking", data="opaque"),
        stop(1),
        *text(2, "Hello"),
        start(3, type="tool_use", id="toolu_1", name="bash", input={}),
        delta(3, type="input_json_delta", partial_json='{"command":'),
        delta(3, type="input_json_delta", partial_json=' "ls"}'),
        stop(3),
        end("tool_use", output_tokens=20),
        STOP,
    )
    *blocks, call = blocks_of(events)
    assert blocks == [
        Thinking("hm", "sig", "anthropic"),
        Thinking("", "", "anthropic", "opaque"),
        Text("Hello"),
    ]
    assert (call.name, call.args, call.invalid) == ("bash", {"command": "ls"}, "")
    assert call.id != "toolu_1"
    assert events[-1] == Done("tool_use", Usage(10, 20))


def test_usage_reports_are_totals_and_leave_out_what_is_known() -> None:
    first = {
        "input_tokens": 10, "output_tokens": 1,
        "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3,
    }  # fmt: skip
    events = run(
        {"type": "message_start", "message": {"usage": first}}, end(output_tokens=20, input_tokens=None), STOP
    )
    assert [event.usage for event in events if isinstance(event, UsageReport)] == [
        Usage(10, 1, 5, 3),
        Usage(10, 20, 5, 3),
    ]
    assert events[-1].usage == Usage(10, 20, 5, 3)
    assert run({"type": "message_start", "message": {}}, end(), STOP)[-1] == Done("end_turn", Usage())


def test_stop_reasons() -> None:
    for said, ours in {
        "end_turn": "end_turn", "stop_sequence": "end_turn", "tool_use": "tool_use",
        "max_tokens": "max_tokens", "refusal": "refusal", "pause_turn": "pause",
        "model_context_window_exceeded": "context_window",
        "something_new": "end_turn",
    }.items():  # fmt: skip
        assert run(START, end(said), STOP)[-1] == Done(ours, Usage(10, 1))


def test_an_end_without_a_reason_or_with_an_open_block_is_none() -> None:
    for events in (
        [START, *text(0, "x")],
        [START, *text(0, "x"), STOP],
        [START, *text(0, "x"), end(None), STOP],
        [START, *text(0, "x")[:2], end(), STOP],
        [START, *text(0, "x"), end()],
        [],
    ):
        last = run(*events)[-1]
        assert isinstance(last, Failed)
        assert isinstance(last.error, StreamBroken)


def test_an_error_ends_the_answer() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    last = run(START, *text(0, "x"), error)[-1]
    assert isinstance(last.error, Overloaded)


def test_what_is_not_known_is_passed_over() -> None:
    events = run(
        START,
        {"type": "surprise"},
        start(0, type="server_tool_use", id="x", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json="{}"),
        stop(0),
        *text(1, "Hello"),
        delta(1, type="text_delta", text="late"),
        stop(7),
        start(2, type="text", text=""),
        delta(2, type="citations_delta", citation={}),
        stop(2),
        end(),
        STOP,
    )
    assert blocks_of(events) == [Text("Hello"), Text("")]


def test_blocks_that_all_have_one_number_are_told_apart() -> None:
    events = run(START, *text(0, "one"), *text(0, "two"), end(), STOP)
    assert blocks_of(events) == [Text("one"), Text("two")]


def test_a_block_that_begins_twice_makes_no_sense() -> None:
    assert isinstance(run(START, *text(0, "x")[:2], *text(0, "y"), end(), STOP)[-1], Failed)


def test_arguments_may_come_with_the_start() -> None:
    events = run(
        START, start(0, type="tool_use", name="bash", input={"command": "ls"}), stop(0), end("tool_use"), STOP
    )
    assert blocks_of(events)[0].args == {"command": "ls"}


def test_a_cut_call_is_never_whole() -> None:
    events = run(
        START,
        start(0, type="tool_use", name="bash", input={}),
        delta(0, type="input_json_delta", partial_json='{"command": "rm -rf /tm'),
        stop(0),
        end("max_tokens"),
        STOP,
    )
    (call,) = blocks_of(events)
    assert isinstance(call, ToolCall)
    assert call.args == {}
    assert call.invalid.startswith('{"command"')


def test_a_message_that_is_not_streamed() -> None:
    message = {
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "x", "name": "bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "y", "name": "bash", "input": "cut"},
        ],
    }  # fmt: skip
    events = assembled(AnthropicAssembler(), [message], name="whole")
    thinking, words, call, bad = blocks_of(events)
    assert (thinking, words) == (Thinking("hm", "sig", "anthropic"), Text("Hello"))
    assert call.args == {"command": "ls"}
    assert bad.invalid == '"cut"'
    assert events[-1] == Done("tool_use", Usage(3, 4))


def test_what_cannot_be_read_is_a_failure() -> None:
    for junk in (
        b"{",
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"1",
        {"type": "content_block_start"},
        delta(0),
        start(0),
    ):
        assert isinstance(run(START, *text(0, "x"), junk)[-1], Failed)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text("ab{}[", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(
            ["type", "index", "delta", "content_block", "message", "usage", "text", "content", "name"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=8,
)  # fmt: skip
_EVENT = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(
        ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
         "message_stop", "message", "error"]
    ),
    st.dictionaries(
        st.sampled_from(["index", "delta", "content_block", "message", "usage", "error", "content"]), _JSON
    ),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(_EVENT | _JSON, max_size=8))
def test_whatever_comes_makes_an_order_and_an_end(events: list) -> None:
    run(*events)
