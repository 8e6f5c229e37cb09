"""What the fake model server refuses, as the real services do."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest

from tests.support.fake_llm import FakeLLM, Reply
from tests.support.fake_llm_anthropic_check import anthropic_violation
from tests.support.fake_llm_client import HEADERS, address, ask, body
from tests.support.fake_llm_openai_check import openai_violation
from tests.support.fake_llm_reply import Dialect, JsonObject

SENT = {**HEADERS, "content-type": "application/json"}
USER: JsonObject = {"role": "user", "content": "hi"}
SCHEMA: JsonObject = {"type": "object", "properties": {}}
CACHE: JsonObject = {"type": "ephemeral"}


def refused(**more: object) -> str | None:
    """Why the Anthropic service refuses the usual request with these fields."""
    return anthropic_violation(body("anthropic", **more), SENT, counts_only=False)


def refused_messages(*messages: JsonObject, **more: object) -> str | None:
    return refused(messages=[*messages], **more)


def assistant(*content: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [*content]}


def user(*content: JsonObject) -> JsonObject:
    return {"role": "user", "content": [*content]}


def said(words: str, **more: object) -> JsonObject:
    return {"type": "text", "text": words, **more}


def use(call_id: str, **more: object) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": "read", "input": {}, **more}


def result(call_id: str, **more: object) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "x", **more}


def image(**source: object) -> JsonObject:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA", **source},
    }


THOUGHT: JsonObject = {"type": "thinking", "thinking": "hm", "signature": "s"}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, USER],
        [USER, {"role": "assistant", "content": "x"}],
        [USER, assistant(said("a"), use("A"), use("B")), user(result("B"), result("A"), said("go on"))],
        [USER, assistant(use("A")), user(result("A")), user(said("and"))],
        [USER, assistant(use("A")), assistant(use("B")), user(result("A")), user(result("B"))],
        [USER, assistant(use("A")), user(result("A", content=[said("x"), image()], is_error=True))],
        [USER, assistant(use("A")), user({"type": "tool_result", "tool_use_id": "A"})],
        [USER, assistant(THOUGHT, {"type": "redacted_thinking", "data": "d"}, said("x")), USER],
        [user(image(), said("what is it?"))],
        [user({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}})],
        [user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}})],
        [user({"type": "document", "source": image(media_type="application/pdf")["source"]})],
    ],
)
def test_anthropic_accepts(messages: list[JsonObject]) -> None:
    assert refused(messages=messages) is None


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "at least one message"),
        ("hi", "at least one message"),
        (["hi"], "messages.0: Input should be an object"),
        ([{"role": "assistant", "content": "x"}], "first message must use the user role"),
        ([{"role": "system", "content": "x"}], "Unexpected role 'system'"),
        ([{**USER, "name": "x"}], "messages.0.name: Extra inputs"),
        ([{"role": "user", "content": 7}], "messages.0.content: Input should be a string"),
        ([{"role": "user", "content": []}], "non-empty content"),
        ([{"role": "user", "content": ""}], "text content blocks must be non-empty"),
        ([user(said("x"), said(""))], "messages.0.content.1: text content blocks must be non-empty"),
        ([user(said(" \n"))], "must contain non-whitespace text"),
        ([{"role": "user", "content": ["x"]}], "messages.0.content.0: Input should be an object"),
        ([user({"type": "txt"})], "Input tag 'txt'"),
        ([user(said("x", index=0))], "text.index: Extra inputs"),
        ([user(use("A"))], "`tool_use` blocks can only be in `assistant` messages"),
        ([USER, assistant(result("A"))], "`tool_result` blocks can only be in `user` messages"),
        ([USER, assistant(image())], "`image` blocks can only be in `user` messages"),
        ([USER, assistant(use("A"))], "without `tool_result` blocks immediately after: A."),
        ([USER, assistant(use("A")), USER], "without `tool_result` blocks immediately after: A."),
        ([USER, assistant(use("A"), use("B")), user(result("A"))], "immediately after: B."),
        ([USER, assistant(use("A")), USER, user(result("A"))], "must come first"),
        ([USER, assistant(use("A")), user(said("x"), result("A"))], "must come first"),
        ([user(result("A"))], "unexpected `tool_use_id` found in `tool_result` blocks: A."),
        (
            [USER, assistant(use("A")), user(result("A")), assistant(said("x")), user(result("A"))],
            "unexpected `tool_use_id`",
        ),
        ([USER, assistant(use("A")), user(result("A"), result("A"))], "must have a single result"),
        ([USER, assistant(use("A"), use("A")), user(result("A"))], "`tool_use` ids must be unique"),
        (
            [USER, assistant(use("A")), user(result("A")), assistant(use("A")), user(result("A"))],
            "`tool_use` ids must be unique",
        ),
        ([USER, assistant(use("a:b")), user(result("a:b"))], "tool_use.id: String should match"),
        ([USER, assistant(use("A", name="a b")), user(result("A"))], "tool_use.name: String should match"),
        ([USER, assistant(use("A", input="{}")), user(result("A"))], "input: Input should be a valid dict"),
        ([USER, assistant({"type": "tool_use", "id": "A"}), USER], "tool_use.name: Field required"),
        ([USER, assistant(use("A")), user(result("A", content=7))], "tool_result.content: Input should"),
        ([USER, assistant(use("A")), user(result("A", content=[THOUGHT]))], "not a block a result may hold"),
        ([USER, assistant(use("A")), user(result("A", content=[said("")]))], "must be non-empty"),
        ([USER, assistant({**THOUGHT, "signature": ""}), USER], "Invalid `signature`"),
        ([USER, assistant({"type": "thinking", "thinking": "x"}), USER], "signature: Field required"),
        ([USER, {"role": "assistant", "content": "x "}], "cannot end with trailing whitespace"),
        ([user(image(media_type="image/bmp"))], "media_type: Input should be image/jpeg or"),
        ([user(image(data="*"))], "data: not valid base64"),
        ([user(image(data=""))], "image cannot be empty"),
        ([user(image(type="path"))], "Input tag 'path'"),
        ([user({"type": "image"})], "source: Field required"),
    ],
)
def test_anthropic_refuses_messages(messages: object, message: str) -> None:
    assert message in str(refused(messages=messages))


def tool(**more: object) -> list[JsonObject]:
    return [{"name": "read", "input_schema": SCHEMA, **more}]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model": ""}, "model: Field required"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "greater than or equal to 1"),
        ({"stream_options": {}}, "stream_options: Extra inputs are not permitted"),
        ({"temperature": 1.5}, "temperature: range"),
        ({"system": 7}, "system: Input should be"),
        ({"system": [said("")]}, "system.0: text content blocks must be non-empty"),
        ({"system": [image()]}, "system.0: Input should be a text block"),
        ({"tools": {}}, "tools: Input should be a valid list"),
        ({"tools": ["read"]}, "tools.0: Input should be an object"),
        ({"tools": tool(name="a.b")}, "tools.0.custom.name: String should match"),
        ({"tools": tool(name="a" * 129)}, "tools.0.custom.name: String should match"),
        ({"tools": tool() * 2}, "Tool names must be unique"),
        ({"tools": [{"name": "read"}]}, "input_schema: Field required"),
        ({"tools": tool(input_schema={"type": "string"})}, "input_schema.type: Input should be 'object'"),
        ({"tools": tool(input_schema={**SCHEMA, "anyOf": []})}, "does not support oneOf"),
        ({"tool_choice": {"type": "auto"}}, "only be specified while providing tools"),
        ({"tools": tool(), "tool_choice": "auto"}, "tool_choice: Input tag"),
        ({"tools": tool(), "tool_choice": {"type": "tool", "name": "x"}}, "Tool 'x' not found"),
        ({"system": [said("x", cache_control=CACHE)] * 5}, "A maximum of 4 blocks with cache_control"),
        ({"system": [said("x", cache_control={"type": "x"})]}, "cache_control: Input should be"),
        ({"system": [said("x", cache_control={**CACHE, "ttl": "2h"})]}, "cache_control: Input should be"),
        (
            {
                "system": [said("x", cache_control=CACHE)],
                "messages": [user(said("x", cache_control={**CACHE, "ttl": "1h"}))],
            },
            "must not come after",
        ),
        ({"thinking": "on"}, "thinking: Input tag"),
        ({"thinking": {"type": "enabled"}}, "budget_tokens: must be an integer"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, "at least 1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "`max_tokens` must be greater"),
        ({"thinking": {"type": "adaptive"}, "temperature": 0.5}, "`temperature` may only be set to 1"),
        ({"thinking": {"type": "adaptive"}, "top_k": 5}, "`top_k` must be unset"),
        (
            {"thinking": {"type": "adaptive"}, "tools": tool(), "tool_choice": {"type": "any"}},
            "when tool_choice forces tool use",
        ),
    ],
)
def test_anthropic_refuses_options(more: Mapping[str, object], message: str) -> None:
    assert message in str(refused(**more))


@pytest.mark.parametrize(
    "more",
    [
        {"system": ""},
        {"system": [said("x", cache_control={**CACHE, "ttl": "1h"}), said("y", cache_control=CACHE)]},
        {"tools": tool(cache_control=CACHE), "tool_choice": {"type": "tool", "name": "read"}},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"thinking": {"type": "disabled"}, "temperature": 0},
        {"thinking": {"type": "adaptive"}, "temperature": 1},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 1025},
        {"metadata": {"user_id": "x"}, "stop_sequences": ["x"]},
    ],
)
def test_anthropic_accepts_options(more: Mapping[str, object]) -> None:
    assert refused(**more) is None


def test_anthropic_counts_breakpoints_wherever_they_are() -> None:
    marked = assistant(use("A", cache_control=CACHE))
    answer = user(result("A", content=[said("x", cache_control=CACHE)], cache_control=CACHE))
    rest = {"tools": tool(cache_control=CACHE), "system": [said("x", cache_control=CACHE)]}
    assert "Found 5." in str(refused_messages(USER, marked, answer, **rest))


def test_anthropic_wants_the_thinking_of_the_turn_in_progress() -> None:
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}
    bare, thoughtful = assistant(use("A")), assistant(THOUGHT, use("A"))
    later = [assistant(use("B")), user(result("B"))]
    assert "Expected `thinking`" in str(refused_messages(USER, bare, user(result("A")), **thinks))
    assert "Expected `thinking`" in str(refused_messages(USER, bare, user(result("A")), *later, **thinks))
    assert refused_messages(USER, thoughtful, user(result("A")), *later, **thinks) is None
    done = [bare, user(result("A")), assistant(said("x")), USER]
    assert refused_messages(USER, *done, **thinks) is None
    prefilled = refused_messages(USER, assistant(said("x")), **thinks)
    assert "Prefilling" in str(prefilled)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("x-api-key", "x-api-key header is required"),
        ("anthropic-version", "anthropic-version: header is required"),
        ("content-type", "content-type: must be application/json"),
    ],
)
def test_anthropic_wants_its_headers(missing: str, message: str) -> None:
    headers = {name: value for name, value in SENT.items() if name != missing}
    assert anthropic_violation(body("anthropic"), headers, counts_only=False) == message


def test_anthropic_takes_a_bearer_token() -> None:
    headers = {name: value for name, value in SENT.items() if name != "x-api-key"}
    headers["authorization"] = "Bearer x"
    assert anthropic_violation(body("anthropic"), headers, counts_only=False) is None


def call(call_id: str, arguments: object = "{}", **more: object) -> JsonObject:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "read", "arguments": arguments},
        **more,
    }


def asks(*calls: JsonObject, **more: object) -> JsonObject:
    return {"role": "assistant", "content": None, "tool_calls": [*calls], **more}


def answer(call_id: str, content: object = "x") -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def refused_openai(**more: object) -> str | None:
    return openai_violation(body("openai", **more), Dialect())


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "system", "content": "x"}, {"role": "developer", "content": "x"}, USER, USER],
        [USER, {"role": "assistant", "content": "", "reasoning_content": "hm"}, USER],
        [USER, asks(call("A"), call("B")), answer("B"), answer("A"), USER],
        [USER, asks(call("A"), content="so"), answer("A", "")],
        [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]}],
    ],
)
def test_openai_accepts(messages: list[JsonObject]) -> None:
    assert refused_openai(messages=messages) is None


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "at least 1 item"),
        (["x"], "messages[0]': expected an object"),
        ([{"role": "model", "content": "x"}], "'messages[0].role' must be one of"),
        ([{"role": "system", "content": "x"}], "the first message that is not a system message"),
        ([{"role": "assistant", "content": "x"}, USER], "the first message that is not a system message"),
        ([{"role": "user", "content": None}], "messages[0].content': expected a string"),
        ([{"role": "user", "content": []}], "messages[0].content': expected a string"),
        ([{"role": "user", "content": [{"type": "image"}]}], "a part's type must be one of"),
        ([USER, {"role": "assistant", "content": None}], "messages[1].content': expected a string"),
        ([USER, asks()], "tool_calls': expected an array with at least 1 item"),
        ([USER, asks(call("A"), content=7), answer("A")], "messages[1].content': expected a string"),
        ([USER, asks(call("A"))], "did not have response messages: A"),
        ([USER, asks(call("A"), call("B")), answer("A"), USER], "did not have response messages: B"),
        ([USER, asks(call("A")), USER, answer("A")], "did not have response messages: A"),
        ([USER, answer("A")], "must be a response to a preceding message"),
        ([USER, asks(call("A")), answer("A"), answer("A")], "must be a response to a preceding message"),
        ([USER, asks(call("A", {})), answer("A")], "function.arguments': expected a string"),
        ([USER, asks(call("A", "{")), answer("A")], "not valid JSON"),
        ([USER, asks(call("A", "")), answer("A")], "not valid JSON"),
        ([USER, asks(call("")), answer("")], "tool_calls[0].id'"),
        ([USER, asks(call("A"), call("A")), answer("A")], "Duplicate value"),
        ([USER, asks(call("A", type="tool")), answer("A")], "expected type 'function'"),
        ([USER, asks(call("A", function={"arguments": "{}"})), answer("A")], "function.name'"),
        ([USER, asks(call("A")), answer("A", [{"type": "text", "text": "x"}])], "content is a string"),
        ([USER, asks(call("A")), {"role": "tool", "content": "x"}], "tool_call_id'"),
    ],
)
def test_openai_refuses_messages(messages: object, message: str) -> None:
    assert message in str(refused_openai(messages=messages))


def function(**more: object) -> list[JsonObject]:
    return [{"type": "function", "function": {"name": "read", "parameters": SCHEMA, **more}}]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model": None}, "you must provide a model parameter"),
        ({"stream": "yes"}, "Invalid type for 'stream'"),
        ({"stream": False, "stream_options": {}}, "only allowed when 'stream' is enabled"),
        ({"max_completion_tokens": 5}, "at the same time is not supported"),
        ({"max_tokens": 0}, "Invalid value for 'max_tokens'"),
        ({"temperature": 3}, "Invalid 'temperature'"),
        ({"temperature": "hot"}, "Invalid 'temperature'"),
        ({"tools": []}, "Invalid 'tools'"),
        ({"tools": [{"name": "read"}]}, "Invalid 'tools[0]'"),
        ({"tools": function(name="a.b")}, "tools[0].function.name"),
        ({"tools": function(name="a" * 65)}, "tools[0].function.name"),
        ({"tools": function(parameters={"type": "array"})}, "Invalid schema for function 'read'"),
        ({"tool_choice": "auto"}, "only allowed when 'tools' are specified"),
    ],
)
def test_openai_refuses_options(more: Mapping[str, object], message: str) -> None:
    assert message in str(refused_openai(**more))


def test_openai_accepts_tools() -> None:
    assert refused_openai(tools=function(), tool_choice="auto") is None
    assert refused_openai(tools=[{"type": "function", "function": {"name": "now"}}]) is None


def test_a_refusal_is_answered_recorded_and_costs_no_reply(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(Reply.text("x"))
    response = ask(client, fake_llm, "anthropic", max_tokens=0)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert "max_tokens" in response.json()["error"]["message"]
    response = ask(client, fake_llm, "openai", messages=[])
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert [problem.partition(":")[0] for problem in fake_llm.problems] == ["request 0", "request 1"]
    assert len(fake_llm.replies) == 1
    fake_llm.problems.clear()


def test_the_check_can_be_switched_off(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.validate = False
    fake_llm.script(Reply.text("x"))
    assert ask(client, fake_llm, "anthropic", max_tokens=0, messages=[]).status_code == 200


def test_a_body_that_is_no_json_is_refused_in_any_case(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.validate = False
    response = client.post(address(fake_llm, "openai"), content=b"{")
    assert (response.status_code, fake_llm.requests[0].json) == (400, None)
    assert fake_llm.problems == ["request 0: the body is not a JSON object"]
    fake_llm.problems.clear()
