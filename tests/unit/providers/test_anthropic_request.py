"""Requests of the Messages API, built from messages."""

from __future__ import annotations

import json

import pytest

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from mewcode.core.tool_spec import ToolSpec
from mewcode.providers.anthropic import AnthropicProtocol, build_body
from mewcode.providers.base import Endpoint, ModelRequest
from mewcode.providers.catalog import ModelInfo
from tests.support.fake_llm_anthropic_check import anthropic_violation

MODEL = ModelInfo(name="m", max_output=10_000, vision=True)
SPEC = ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {}})
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
MARK = {"type": "ephemeral"}


def user(*blocks, origin="user") -> Message:
    return Message("u", "user", tuple(Text(b) if isinstance(b, str) else b for b in blocks), origin)


def model(*blocks, by: str = "m") -> Message:
    return Message("a", "assistant", tuple(Text(b) if isinstance(b, str) else b for b in blocks), "model", by)


def result(call_id: str, *blocks, is_error: bool = False) -> Message:
    content = tuple(Text(b) if isinstance(b, str) else b for b in blocks)
    return Message("t", "tool", (ToolResult(call_id, content, is_error),), "tool")


def build(*messages: Message, info: ModelInfo = MODEL, **settings) -> dict:
    request = ModelRequest(info, settings.pop("system", ("system",)), messages, **settings)
    body = json.loads(AnthropicProtocol().build(request, Endpoint("http://h", "k")).body)
    assert anthropic_violation(body, HEADERS, counts_only=False) is None
    return body


def _plain(messages: list) -> list:
    """Without the cache marks."""
    return [
        (m["role"], [{k: v for k, v in block.items() if k != "cache_control"} for block in m["content"]])
        for m in messages
    ]


def test_a_first_request() -> None:
    body = build(user("hi"), tools=(SPEC,))
    assert body == {
        "model": "m",
        "max_tokens": 10_000,
        "stream": True,
        "system": [{"type": "text", "text": "system", "cache_control": MARK}],
        "tools": [
            {
                "name": "bash", "description": "Runs a command.", "input_schema": SPEC.input_schema,
                "cache_control": MARK,
            }
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": MARK}]}],
    }  # fmt: skip


def test_headers() -> None:
    request = ModelRequest(MODEL, (), (user("hi"),))
    protocol = AnthropicProtocol()
    built = protocol.build(request, Endpoint("http://h/base", "key", headers={"x-more": "1"}))
    assert (built.method, built.url) == ("POST", "http://h/base/v1/messages")
    assert built.headers == {**HEADERS, "x-api-key": "key", "x-more": "1"}
    bearer = protocol.build(request, Endpoint("http://h", "key", bearer=True)).headers
    assert bearer["authorization"] == "Bearer key"
    assert "x-api-key" not in bearer
    assert "authorization" not in protocol.build(request, Endpoint("http://h")).headers
    assert protocol.models_request(Endpoint("http://h", "key")).url == "http://h/v1/models?limit=1000"


def test_marks_stand_on_the_last_tool_the_last_system_block_and_the_last_two_messages() -> None:
    body = build(
        user("1"), model("2"), user("3"), model("4"), user("5", "6"),
        system=("stable", "", "volatile"), tools=(SPEC, ToolSpec("grep", "Finds.", {"type": "object"})),
    )  # fmt: skip
    assert ["cache_control" in block for block in body["system"]] == [False, True]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    marked = [["cache_control" in block for block in message["content"]] for message in body["messages"]]
    assert marked == [[False], [False], [False], [True], [False, True]]


@pytest.mark.parametrize("system", [(), ("",)])
def test_no_system_prompt_is_none(system) -> None:
    assert "system" not in build(user("hi"), system=system)


def test_no_tool_may_be_used_but_all_stay_in_the_prompt() -> None:
    body = build(user("hi"), tools=(SPEC,), tool_choice="none")
    assert body["tool_choice"] == {"type": "none"}
    assert len(body["tools"]) == 1
    assert "tool_choice" not in build(user("hi"), tool_choice="none")


def test_results_of_one_answer_are_one_message_in_the_order_of_the_calls() -> None:
    calls = [ToolCall(name, "bash", {"n": name}) for name in "abc"]
    body = build(
        user("go"), model("Three.", *calls),
        result("c", "3"), result("a", "1"), user("<system-reminder>", origin="reminder"),
        result("b", is_error=True),
    )  # fmt: skip
    assert _plain(body["messages"])[1:] == [
        (
            "assistant",
            [
                {"type": "text", "text": "Three."},
                *({"type": "tool_use", "id": name, "name": "bash", "input": {"n": name}} for name in "abc"),
            ],
        ),
        (
            "user",
            [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}]},
                {
                    "type": "tool_result", "tool_use_id": "b", "is_error": True,
                    "content": [{"type": "text", "text": "(no output)"}],
                },
                {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "3"}]},
                {"type": "text", "text": "<system-reminder>"},
            ],
        ),
    ]  # fmt: skip


def test_neighbours_of_one_side_become_one_message() -> None:
    body = build(user("a"), user("b", origin="reminder"), model("c"), model("d"), user("e"))
    assert [role for role, _ in _plain(body["messages"])] == ["user", "assistant", "user"]
    assert [block["text"] for block in body["messages"][0]["content"]] == ["a", "b"]
    assert [block["text"] for block in body["messages"][1]["content"]] == ["c", "d"]


def test_blank_texts_and_broken_off_thoughts_are_left_out() -> None:
    body = build(
        user("a", "  "), model(Thinking("hm", "s", "anthropic")), user("b"), model("c", " \n"), user("d")
    )
    assert _plain(body["messages"]) == [
        ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ("assistant", [{"type": "text", "text": "c"}]),
        ("user", [{"type": "text", "text": "d"}]),
    ]


def test_own_thinking_goes_back_unchanged_foreign_thinking_does_not() -> None:
    call = ToolCall("a", "bash", {})
    body = build(
        user("go"),
        model(
            Thinking("mine", "sig", "anthropic"), Thinking("", "", "anthropic", redacted="opaque"),
            Thinking("unsigned", "", "anthropic"), Thinking("theirs", "reasoning_content", "openai"), call,
        ),
        result("a", "x"),
        info=ModelInfo(name="m", thinking="adaptive"),
    )  # fmt: skip
    assert _plain(body["messages"])[1][1] == [
        {"type": "thinking", "thinking": "mine", "signature": "sig"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "tool_use", "id": "a", "name": "bash", "input": {}},
    ]


def test_how_a_model_is_asked_to_think() -> None:
    own = model(Thinking("hm", "s", "anthropic"), ToolCall("a", "bash", {}))
    bare = model(ToolCall("a", "bash", {}))
    budget = ModelInfo(name="m", max_output=64_000, thinking="budget")
    enabled = {"type": "enabled", "budget_tokens": 10_000}
    assert "thinking" not in build(user("hi"))
    assert build(user("hi"), info=ModelInfo(name="m", thinking="adaptive"))["thinking"]["type"] == "adaptive"
    assert build(user("hi"), info=budget)["thinking"] == enabled
    assert build(user("hi"), own, result("a", "x"), info=budget)["thinking"] == enabled
    assert "thinking" not in build(user("hi"), bare, result("a", "x"), info=budget)
    assert "thinking" not in build(user("hi"), bare, result("a", "x"), user("more"), info=budget)
    later = (user("hi"), bare, result("a", "x"), model("seen"), user("more"))
    assert build(*later, info=budget)["thinking"] == enabled
    assert "thinking" not in build(user("hi"), info=ModelInfo(name="m", max_output=2_000, thinking="budget"))
    small = ModelInfo(name="m", max_output=4_000, thinking="budget")
    assert build(user("hi"), info=small)["thinking"]["budget_tokens"] == 2_000


def test_an_image_is_sent_to_a_model_that_sees_and_named_to_another() -> None:
    picture = Image("image/png", "aGk=")
    call = ToolCall("a", "bash", {})
    messages = (user("look", picture), model(call), result("a", "seen", picture))
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    seen = _plain(build(*messages)["messages"])
    assert seen[0][1][1] == {"type": "image", "source": source}
    assert seen[2][1][0]["content"] == [
        {"type": "text", "text": "seen"}, {"type": "image", "source": source},
    ]  # fmt: skip
    blind = json.dumps(build(*messages, info=ModelInfo(name="m"))["messages"])
    assert "aGk=" not in blind
    assert blind.count("this model takes none") == 2


def test_the_body_is_the_same_every_time() -> None:
    request = ModelRequest(MODEL, ("s",), (user("hi"), model("yes"), user("go")), (SPEC,))
    assert build_body(request) == build_body(request)
    assert "cache_control" not in SPEC.input_schema
