"""The codec between a message and its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_strategies import ANY_TEXT, JSON, assistant, messages, tool, user

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from mewcode.sessions.record import (
    Totals,
    WireMessage,
    decode_line,
    decode_value,
    encode_message,
    encode_record,
    from_wire,
    safe_call_id,
    session_record,
    state_record,
    totals_of,
    usage_record,
)

OPTIONAL = ("id", "parent", "tool_calls", "tool_results", "ts", "model", "usage", "type")
BLOCK_KEYS = st.sampled_from(["type", "text"])


def back(message: Message) -> Message:
    record = decode_line(encode_message(message, ts=1.5, parent="p", model=message.model))
    assert isinstance(record, WireMessage), record
    return from_wire(record)


@settings(max_examples=300, deadline=None)
@given(messages())
def test_a_message_comes_back_as_it_was(message):
    assert back(message) == message


@settings(max_examples=200, deadline=None)
@given(messages(ANY_TEXT, ANY_TEXT))
def test_a_line_is_one_line_of_utf8_whatever_the_text_holds(message):
    line = encode_message(message, ts=1.5)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    line.decode("utf-8")
    record = decode_line(line)
    assert isinstance(record, WireMessage)
    again = from_wire(record)
    assert again.role == message.role
    assert [type(block) for block in again.content] == [type(block) for block in message.content]


def test_the_record_has_the_fields_that_scripts_rely_on():
    message = Message(
        "m2",
        "assistant",
        (Text("hi"), ToolCall("c1", "bash", {"command": "ls"})),
        "model",
        "opus",
        Usage(1, 2),
    )
    assert json.loads(encode_message(message, ts=12.5, parent="m1", model="opus")) == {
        "id": "m2",
        "parent": "m1",
        "role": "assistant",
        "content": "hi",
        "tool_calls": [{"id": "c1", "name": "bash", "args": {"command": "ls"}}],
        "ts": 12.5,
        "model": "opus",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    assert json.loads(encode_message(tool("t", "c1", "out"), ts=1, parent="m2")) == {
        "id": "t",
        "parent": "m2",
        "role": "tool",
        "content": "",
        "tool_results": [{"tool_use_id": "c1", "content": "out", "is_error": False}],
        "ts": 1,
    }
    first = json.loads(encode_message(user("m1"), ts=1, parent=None))
    assert first["parent"] is None
    assert "origin" not in first
    assert "parent" not in json.loads(encode_message(user("m1"), ts=1))
    reminder = Message("r", "user", (Text("x"),), "reminder")
    assert json.loads(encode_message(reminder, ts=1))["origin"] == "reminder"


def test_an_order_that_is_not_the_usual_one_is_kept():
    content = (
        Thinking("first", "sig", "anthropic"),
        ToolCall("c1", "read_file", {}),
        Thinking("second"),
        ToolCall("c1", "bash", {"twice": "the same id"}),
        Text("end"),
    )
    message = Message("m", "assistant", content, "model")
    assert back(message) == message
    results = (Text("before"), ToolResult("c1", (Text("a"), Image("image/png", "eA=="))), Text("after"))
    assert back(Message("m", "user", results)).content == results


def test_results_then_text_needs_no_place_holders():
    message = Message("m", "tool", (ToolResult("c1", (Text("out"),)), Text("<system-reminder>")), "tool")
    assert json.loads(encode_message(message, ts=1))["content"] == "<system-reminder>"
    assert back(message) == message


def test_separators_nul_and_lone_surrogates():
    text = "a\u2028b\u2029c\x00d\x85e\r\nf"
    assert back(user("m", text)).text == text
    assert back(user("m", "x\ud800y")).text == "x\ufffdy"
    record = decode_line(b'{"role":"user","content":"x\\ud800y","ts":1}\n')
    assert isinstance(record, WireMessage)
    assert from_wire(record).text == "x\ufffdy"


def test_values_that_json_cannot_hold_are_written_all_the_same():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    args = {"deep": deep, "nan": float("nan"), "set": {1}, "huge": 10**30, "pairs": {(1, 2): "x"}}
    record = decode_line(
        encode_message(Message("m", "assistant", (ToolCall("c", "t", args),), "model"), ts=1)
    )
    assert isinstance(record, WireMessage)
    (call,) = from_wire(record).tool_calls
    assert call.args["nan"] is None
    assert call.args["set"] == "{1}"
    assert call.args["pairs"] == {"(1, 2)": "x"}


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        JSON,
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "tool", "system", None])},
            optional=dict.fromkeys(OPTIONAL, JSON)
            | {"content": st.one_of(JSON, st.lists(st.dictionaries(BLOCK_KEYS, JSON)))},
        ),
    )
)
def test_no_json_value_makes_the_decoder_fail(value):
    record = decode_value(value)
    if isinstance(record, WireMessage):
        encode_message(from_wire(record), ts=1)
    else:
        assert isinstance(record, str | dict)
        assert record


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"null", "not an object"),
        (b"[]", "not an object"),
        (b'"x"', "not an object"),
        (b"NaN", "not an object"),
        (b"7", "not an object"),
        (b"{}", "no known role"),
        (b'{"role":"system","content":"x"}', "no known role"),
        (b'{"role":"user"}', "a message without content"),
        (b'{"role":"user","content":{"a":1}}', "content of an unknown form"),
        (b'{"type":"motto","title":"x"}', "a record of an unknown type"),
        (b'{"type":"later","role":"user","content":"x"}', "a record of an unknown type"),
        (b'{"role":"user","content":"x"', "not JSON"),
        (b'{"role":"user","content":"\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 6000, "not JSON"),
    ],
)
def test_why_a_line_is_skipped(line, reason):
    assert decode_line(line) == reason


def plain(text: str) -> Message:
    record = decode_line(text.encode())
    assert isinstance(record, WireMessage), record
    return from_wire(record)


def test_the_plain_form_without_ids():
    message = plain(
        '{"role":"assistant","content":"hi","tool_calls":[{"id":"c1","name":"bash","args":{"command":"ls"}}],'
        '"tool_results":[],"ts":1700000000,"model":"m","unknown":{"kept":1}}'
    )
    assert message.content == (Text("hi"), ToolCall("c1", "bash", {"command": "ls"}))
    assert (message.id, message.model, message.origin) == ("", "m", "model")
    result = plain('{"role":"user","content":null,"tool_results":[{"tool_use_id":"c1","content":["a","b"]}]}')
    assert result.content == (ToolResult("c1", (Text("a"), Text("b"))),)


def test_content_lists_in_the_manner_of_the_messages_api():
    message = plain(
        '{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},'
        '{"type":"redacted_thinking","data":"zz"},{"type":"text","text":"hi","citations":null},'
        '{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"ls"}},{"type":"new","x":1}]}'
    )
    assert message.content == (
        Thinking("hm", "s", "anthropic"),
        Thinking("", protocol="anthropic", redacted="zz"),
        Text("hi"),
        ToolCall("toolu_1", "bash", {"command": "ls"}),
    )
    answer = plain(
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":'
        '[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}}]},"and text"]}'
    )
    assert answer.content == (ToolResult("toolu_1", (Image("image/png", "eA=="),), True), Text("and text"))


def test_arguments_as_text_and_arguments_that_are_none():
    calls = plain(
        '{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"t","args":"{\\"x\\":1}"},'
        '{"id":"b","name":"t","args":"{\\"x\\":"},{"id":"c","name":"t","args":[1]},{"id":"d","args":""}]}'
    ).tool_calls
    assert [(call.name, call.args, call.invalid) for call in calls] == [
        ("t", {"x": 1}, ""),
        ("t", {}, '{"x":'),
        ("t", {}, "[1]"),
        ("unknown", {}, ""),
    ]


def test_results_of_any_form_lose_nothing():
    (result,) = plain(
        '{"role":"tool","tool_results":[{"tool_use_id":"c","content":[{"type":"odd","x":1},2,{"type":"text","text":"t"}]}]}'
    ).tool_results
    assert result.content == (Text('{"type":"odd","x":1}'), Text("2"), Text("t"))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_ids_that_are_not_ours_become_safe_and_still_meet(raw):
    safe = safe_call_id(raw)
    assert safe_call_id(safe) == safe
    assert 1 <= len(safe) <= 64
    assert set(safe) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
    call = decode_value({"role": "assistant", "tool_calls": [{"id": raw, "name": "t", "args": {}}]})
    result = decode_value({"role": "tool", "tool_results": [{"tool_use_id": raw, "content": "x"}]})
    assert from_wire(call).tool_calls[0].id == safe
    assert from_wire(result).tool_results[0].call_id == safe


def test_a_path_as_a_tool_id_is_no_path_any_more():
    line = b'{"role":"assistant","content":"","tool_calls":[{"id":"../../x","name":"t","args":{}}],"ts":1}'
    (call,) = from_wire(decode_line(line)).tool_calls
    assert "/" not in call.id
    assert "." not in call.id


def test_control_records():
    started = session_record("s", ts=1.0, cwd="/w", mode="plan", provider="p", model="m")
    assert (started["type"], started["version"], started["cwd"]) == ("session", 1, "/w")
    assert decode_line(encode_record(started)) == started
    assert state_record(ts=2.0, mode="bypass") == {"type": "state", "ts": 2.0, "mode": "bypass"}
    totals = Totals({"m": Usage(1, 2, 3, 4)}, None)
    assert totals_of(usage_record(totals, ts=3.0)) == totals
    assert totals_of({"models": {"m": {"input_tokens": "x"}, "n": 3}, "cost_usd": "y"}) == Totals(
        {"m": Usage()}, 0.0
    )


def test_only_an_assistant_inherits_the_model():
    record = decode_line(encode_message(assistant("a"), ts=1))
    assert from_wire(record, "inherited").model == "inherited"
    assert from_wire(decode_line(encode_message(user("u"), ts=1, model="m")), "m").model == ""
