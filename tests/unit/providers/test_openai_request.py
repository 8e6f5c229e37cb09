"""Requests of Chat Completions, built from messages."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from mewcode.core.tool_spec import ToolSpec
from mewcode.providers.base import Endpoint, ModelRequest
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.openai_chat import OpenAIChatProtocol
from tests.support.fake_llm import Dialect
from tests.support.fake_llm_openai_check import openai_violation

MODEL = ModelInfo(name="m", max_output=10_000, vision=True)
SPEC = ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {}})
URL = "http://h/v1"


def user(*blocks, origin="user") -> Message:
    return Message("u", "user", tuple(Text(b) if isinstance(b, str) else b for b in blocks), origin)


def model(*blocks, by: str = "m") -> Message:
    return Message("a", "assistant", tuple(Text(b) if isinstance(b, str) else b for b in blocks), "model", by)


def result(call_id: str, *blocks, is_error: bool = False) -> Message:
    content = tuple(Text(b) if isinstance(b, str) else b for b in blocks)
    return Message("t", "tool", (ToolResult(call_id, content, is_error),), "tool")


def build(*messages: Message, info: ModelInfo = MODEL, url: str = URL, **options) -> dict:
    request = ModelRequest(info, options.pop("system", ("system",)), messages, **options)
    body = json.loads(OpenAIChatProtocol().build(request, Endpoint(url, "k")).body)
    assert openai_violation(body, Dialect()) is None
    return body


def said(*messages: Message, **options) -> list[dict]:
    """The messages sent, without the system's."""
    return build(*messages, **options)["messages"][1:]


def test_a_first_request() -> None:
    assert build(user("hi"), tools=(SPEC,), system=("one", "", "two")) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 10_000,
        "messages": [{"role": "system", "content": "one\n\ntwo"}, {"role": "user", "content": "hi"}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "bash", "description": "Runs a command.", "parameters": SPEC.input_schema,
                },
            }
        ],
    }  # fmt: skip


def test_address_and_headers() -> None:
    protocol, request = OpenAIChatProtocol(), ModelRequest(MODEL, (), (user("hi"),))
    built = protocol.build(request, Endpoint("http://h/v1", "key", headers={"x-title": "MewCode"}))
    assert (built.method, built.url) == ("POST", "http://h/v1/chat/completions")
    assert built.headers == {
        "content-type": "application/json", "authorization": "Bearer key", "x-title": "MewCode",
    }  # fmt: skip
    assert "authorization" not in protocol.build(request, Endpoint("http://h/v1")).headers
    models = protocol.models_request(Endpoint("http://h/v1", "key"))
    assert (models.method, models.url) == ("GET", "http://h/v1/models")


@pytest.mark.parametrize("system", [(), ("",)])
def test_no_system_prompt_is_none(system) -> None:
    assert build(user("hi"), system=system)["messages"] == [{"role": "user", "content": "hi"}]


def test_the_output_limit_has_the_name_that_the_model_knows() -> None:
    reasoning = build(user("hi"), info=ModelInfo(name="o3", thinking="effort", max_output=9))
    assert reasoning["max_completion_tokens"] == 9
    assert "max_tokens" not in reasoning
    assert "max_completion_tokens" not in build(user("hi"))


def test_a_model_of_which_nothing_is_known_gets_no_limit() -> None:
    body = build(user("hi"), info=ModelInfo(name="llama3.2:3b"))
    assert not {"max_tokens", "max_completion_tokens"} & set(body)
    assert build(user("hi"), info=ModelInfo(name="x", max_output=1_024))["max_tokens"] == 1_024
    assert build(user("hi"), info=ModelInfo(name="x", vision=True))["max_tokens"] == 8_192


def test_no_tool_may_be_used_but_all_stay_in_the_prompt() -> None:
    body = build(user("hi"), tools=(SPEC,), tool_choice="none")
    assert body["tool_choice"] == "none"
    assert len(body["tools"]) == 1
    assert "tool_choice" not in build(user("hi"), tools=(SPEC,))
    assert "tool_choice" not in build(user("hi"), tool_choice="none")
    assert "parallel_tool_calls" not in body


def test_calls_and_results() -> None:
    calls = [ToolCall(name, "bash", {"n": name, "汉": 1}) for name in "ab"]
    sent = said(
        user("go"), model(*calls), result("b", "2", "more"), result("a", is_error=True), model("Done.")
    )
    assert sent == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": name, "type": "function",
                    "function": {"name": "bash", "arguments": f'{{"n":"{name}","汉":1}}'},
                }
                for name in "ab"
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "(no output)"},
        {"role": "tool", "tool_call_id": "b", "content": "2\nmore"},
        {"role": "assistant", "content": "Done."},
    ]  # fmt: skip


def test_what_is_said_after_results_goes_into_the_last_of_them() -> None:
    calls = [ToolCall(name, "bash", {}) for name in "ab"]
    sent = said(
        user("go"), model("Two.", *calls), result("a", "1"), result("b", "2"),
        user("<system-reminder>", origin="reminder"), user("wait"),
    )  # fmt: skip
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"]
    assert [message["content"] for message in sent[2:]] == ["1", "2\n\n<system-reminder>\n\nwait"]


def test_neighbours_of_one_side_become_one_message() -> None:
    sent = said(
        user("a"), user("<system-reminder>", origin="reminder"), user("b"), model("c"), model("d"), user("e")
    )
    assert sent == [
        {"role": "user", "content": "a\n\n<system-reminder>\n\nb"},
        {"role": "assistant", "content": "c\n\nd"},
        {"role": "user", "content": "e"},
    ]


def test_blank_texts_and_broken_off_thoughts_are_left_out() -> None:
    thought = model(Thinking("hm", "reasoning", "openai"))
    assert said(user("a", "  "), thought, model(" "), user("b")) == [{"role": "user", "content": "a\n\nb"}]


def test_reasoning_goes_back_to_its_model_in_its_field() -> None:
    call = ToolCall("a", "bash", {})
    for field in ("reasoning_content", "reasoning"):
        step = model(Thinking("I ", field, "openai"), Thinking("think", field, "openai"), "Look.", call)
        past = (
            user("go"),
            step,
            result("a", "x"),
            model(Thinking("so", field, "openai"), "Done"),
            user("next"),
        )
        sent = said(*past)
        assert (sent[1][field], sent[3][field]) == ("I think", "so")
        assert said(*past) == said(*past, user("more"))[: len(sent) - 1] + said(*past)[-1:]
    in_tags = model(Thinking("hm", "<think>", "openai"), "Look.", call)
    assert said(user("go"), in_tags, result("a", "x"))[1]["content"] == "<think>hm</think>\nLook."


@pytest.mark.parametrize(
    "thinking",
    [Thinking("t", "sig", "anthropic"), Thinking("t", "content", "openai"), Thinking("t", "", "openai")],
)
def test_reasoning_that_is_not_the_servers_own_stays_here(thinking: Thinking) -> None:
    call = ToolCall("a", "bash", {})
    assert "reasoning" not in str(said(user("go"), model(thinking, call), result("a", "x")))
    foreign = model(Thinking("t", "reasoning_content", "openai"), call, by="other")
    assert "reasoning" not in str(said(user("go"), foreign, result("a", "x")))


@pytest.mark.parametrize(
    "host", ["api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn:443", "API.Kimi.com"]
)
def test_a_server_that_refuses_calls_without_reasoning_gets_a_blank(host: str) -> None:
    call = ToolCall("a", "bash", {})
    past = (
        user("go"), model(Thinking("t", "sig", "anthropic"), call, by="claude"), result("a", "x"),
        model(Thinking("own", "reasoning_content", "openai"), call), result("a", "x"), model("Done"),
    )  # fmt: skip
    sent = said(*past, url=f"https://{host}/v1")
    assert [message.get("reasoning_content") for message in sent] == [None, " ", None, "own", None, None]
    assert said(*past)[1].get("reasoning_content") is None
    assert said(*past, url="https://deepseek.com.example.org/v1")[1].get("reasoning_content") is None


def test_images_of_the_user() -> None:
    picture = Image("image/png", "aGk=")
    url = {"url": "data:image/png;base64,aGk="}
    assert said(user("look", picture)) == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": url}],
        }
    ]
    assert said(user(picture))[0]["content"] == [{"type": "image_url", "image_url": url}]
    blind = said(user("look", picture), info=ModelInfo(name="x"))
    assert blind == [{"role": "user", "content": "look\n\n[an image was here; this model takes none]"}]


def test_images_of_tools_follow_the_results() -> None:
    picture, call, other = Image("image/png", "aGk="), ToolCall("a", "bash", {}), ToolCall("b", "bash", {})
    past = (user("go"), model(call, other), result("b", "text"), result("a", "seen", picture), user("wait"))
    sent = said(*past)
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[2]["content"] == "seen\n[an image: it is in the user message that follows]"
    assert sent[3]["content"] == "text\n\nwait"
    assert [part["type"] for part in sent[4]["content"]] == ["text", "image_url"]
    blind = said(*past, info=ModelInfo(name="x"))
    assert [message["role"] for message in blind] == ["user", "assistant", "tool", "tool"]
    assert blind[2]["content"] == "seen\n[an image was here; this model takes none]"


@st.composite
def _conversations(draw: st.DrawFn) -> list[Message]:
    """What the loop can make: a user's side, an answer, results for all its calls, and so on."""
    words = st.sampled_from(["", " ", "a", "你好\u2028"])
    messages = [user("first")]
    for turn in range(draw(st.integers(0, 4))):
        calls = [ToolCall(f"c{turn}{n}", "bash", {"v": draw(words)}) for n in range(draw(st.integers(0, 3)))]
        thoughts = draw(
            st.lists(
                st.builds(
                    Thinking,
                    words,
                    st.sampled_from(["", "reasoning", "reasoning_content", "<think>", "sig"]),
                    st.sampled_from(["openai", "anthropic"]),
                ),
                max_size=2,
            )
        )  # fmt: skip
        messages.append(model(*thoughts, Text(draw(words)), *calls, by=draw(st.sampled_from(["m", "other"]))))
        for call in draw(st.permutations(calls)):
            content = draw(st.lists(st.sampled_from(["", "x", Image("image/png", "aGk=")]), max_size=2))
            messages.append(result(call.id, *content))
        origins = draw(st.lists(st.sampled_from(["user", "reminder", "recall"]), max_size=2))
        messages += [user(draw(words) or "words", origin=origin) for origin in origins]
    return messages


@settings(max_examples=100, deadline=None)
@given(_conversations(), st.booleans(), st.sampled_from([URL, "https://api.moonshot.ai/v1"]))
def test_every_conversation_is_accepted_and_calls_pair_with_results(messages, vision: bool, url: str) -> None:
    sent = build(*messages, info=ModelInfo(name="m", vision=vision), url=url)["messages"]
    assert sent[1]["role"] == "user"
    for before, after in pairwise(sent):
        if after["role"] == "user" and before["role"] == "tool":
            assert isinstance(after["content"], list)  # only pictures stand there
        assert before["role"] != after["role"] or after["role"] == "tool"
