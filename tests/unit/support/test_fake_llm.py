"""The fake model server: script, record, gates, addresses."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.fake_llm import (
    FakeLLM,
    Gate,
    RecordedRequest,
    RedactedThinking,
    Reply,
    Usage,
    text,
    thinking,
    tool_call,
)
from tests.support.fake_llm_client import (
    HEADERS,
    PROTOCOLS,
    Heard,
    address,
    ask,
    body,
    connected,
    hear,
    parse,
)
from tests.support.fake_llm_request import Protocol

both = pytest.mark.parametrize("protocol", PROTOCOLS)
FULL = Reply.of(
    thinking("let me see", "sig-1", chunks=2),
    text("Hello, 世界", chunks=3),
    tool_call("read", {"path": "a.py"}, id="call_a", chunks=4),
    tool_call("grep", {"pattern": "x"}),
    usage=Usage(input=7, output=5, cache_read=11, cache_write=13),
)


@both
def test_one_reply_is_said_in_either_protocol(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(FULL)
    heard = hear(client, fake_llm, protocol)
    assert heard.reasoning == "let me see"
    assert heard.text == "Hello, 世界"
    assert heard.arguments == '{"path": "a.py"}{"pattern": "x"}'


def test_anthropic_events_come_in_their_order(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(Reply.of(RedactedThinking("xyz"), *FULL.blocks, usage=FULL.usage))
    heard = hear(client, fake_llm, "anthropic")
    assert heard.names == [item["type"] for item in heard.objects]
    assert heard.names[:4] == ["message_start", "content_block_start", "ping", "content_block_stop"]
    assert heard.names[-2:] == ["message_delta", "message_stop"]
    starts = [item["content_block"] for item in heard.objects if item["type"] == "content_block_start"]
    assert starts == [
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "call_a", "name": "read", "input": {}},
        {"type": "tool_use", "id": "toolu_0000_1", "name": "grep", "input": {}},
    ]
    assert ("signature", "sig-1") in heard.deltas
    last = heard.objects[-2]
    assert last["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert last["usage"] == {
        "input_tokens": 7,
        "cache_creation_input_tokens": 13,
        "cache_read_input_tokens": 11,
        "output_tokens": 5,
    }


def test_openai_chunks_come_in_their_order(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(FULL)
    heard = hear(client, fake_llm, "openai")
    assert heard.data[-1] == "[DONE]"
    *chunks, finish, usage = heard.objects
    assert chunks[0]["choices"] == [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    ]
    assert finish["choices"] == [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": 31,
        "completion_tokens": 5,
        "total_tokens": 36,
        "prompt_tokens_details": {"cached_tokens": 11},
    }
    first = heard.call_entries[0]
    assert first == {
        "index": 0,
        "id": "call_a",
        "type": "function",
        "function": {"name": "read", "arguments": ""},
    }
    assert [entry["index"] for entry in heard.call_entries] == [0, 0, 0, 0, 0, 1, 1]


def test_openai_sends_no_usage_that_was_not_asked_for(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(FULL)
    heard = hear(client, fake_llm, "openai", stream_options={"include_usage": False})
    assert not any("usage" in item for item in heard.objects)


def test_anthropic_answers_whole_without_a_stream(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(FULL)
    answer = ask(client, fake_llm, "anthropic", stream=False).json()
    assert answer["content"] == [
        {"type": "thinking", "thinking": "let me see", "signature": "sig-1"},
        {"type": "text", "text": "Hello, 世界"},
        {"type": "tool_use", "id": "call_a", "name": "read", "input": {"path": "a.py"}},
        {"type": "tool_use", "id": "toolu_0000_1", "name": "grep", "input": {"pattern": "x"}},
    ]
    assert answer["stop_reason"] == "tool_use"
    assert answer["usage"]["output_tokens"] == 5


def test_openai_answers_whole_without_a_stream(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(FULL, Reply.calls(("read", {})))
    answer = ask(client, fake_llm, "openai", stream=False).json()
    message = answer["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Hello, 世界", "let me see")
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["read", "grep"]
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"path": "a.py"}
    assert answer["usage"]["total_tokens"] == 36
    assert ask(client, fake_llm, "openai", stream=False).json()["choices"][0]["message"]["content"] is None


@pytest.mark.parametrize(
    ("neutral", "finish"),
    [
        ("end_turn", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
    ],
)
def test_stop_reasons_are_translated(
    fake_llm: FakeLLM, client: httpx.Client, neutral: str, finish: str
) -> None:
    fake_llm.script(*[Reply.text("x", stop_reason=neutral)] * 2)
    assert hear(client, fake_llm, "anthropic").objects[-2]["delta"] == {
        "stop_reason": neutral,
        "stop_sequence": None,
    }
    assert f'"finish_reason":"{finish}"' in ask(client, fake_llm, "openai").text


@both
def test_a_request_is_recorded_in_full(fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol) -> None:
    fake_llm.script(Reply.text("a"), Reply.text("b"))
    schema = {"type": "object", "properties": {}}
    named: dict[str, object] = {"name": "read", "input_schema": schema}
    if protocol == "openai":
        named = {"type": "function", "function": {"name": "read", "parameters": schema}}
    response = client.post(
        f"{address(fake_llm, protocol)}?beta=true",
        json=body(protocol, tools=[named]),
        headers={"X-Mine": "1"},
    )
    assert parse(response.content).text == "a"
    assert hear(client, fake_llm, protocol).text == "b"
    first, second = fake_llm.requests
    assert (first.method, first.query, first.protocol) == ("POST", "beta=true", protocol)
    assert first.path == address(fake_llm, protocol).removeprefix(fake_llm.url)
    assert first.headers["x-mine"] == "1"
    assert json.loads(first.body) == first.json
    assert first.messages == [{"role": "user", "content": "hi"}]
    assert (first.model, first.stream, first.tool_names) == ("fake-large", True, ["read"])
    assert first.time <= second.time
    assert first.connection == second.connection, "the connection was kept alive"


@both
def test_a_script_that_ran_out_is_a_problem(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    response = ask(client, fake_llm, protocol)
    assert response.status_code == 500
    assert "no reply left" in response.json()["error"]["message"]
    with pytest.raises(AssertionError, match=r"request 0: the script .* has no reply left"):
        fake_llm.assert_clean()
    fake_llm.problems.clear()


def test_replies_come_before_the_rule_and_the_rule_before_the_default(
    fake_llm: FakeLLM, client: httpx.Client
) -> None:
    def rule(request: RecordedRequest) -> Reply | None:
        return Reply.text(f"rule {request.index}") if request.index < 2 else None

    fake_llm.script(Reply.text("script"))
    fake_llm.respond_with(rule)
    fake_llm.default = Reply.text("default")
    said = [hear(client, fake_llm, "openai").text for _ in range(3)]
    assert said == ["script", "rule 1", "default"]


def test_a_rule_that_raises_is_a_problem(fake_llm: FakeLLM, client: httpx.Client) -> None:
    def rule(request: RecordedRequest) -> Reply:
        raise AssertionError(f"unexpected {request.path}")

    fake_llm.respond_with(rule)
    assert ask(client, fake_llm, "anthropic").status_code == 500
    assert fake_llm.problems == ["request 0: the rule raised AssertionError: unexpected /v1/messages"]
    fake_llm.problems.clear()


def test_the_script_is_shared_out_among_parallel_requests(fake_llm: FakeLLM) -> None:
    numbers = [str(number) for number in range(20)]
    fake_llm.script(*map(Reply.text, numbers))
    with connected() as client, ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: hear(client, fake_llm, "openai").text, numbers))
    assert sorted(said) == sorted(numbers)
    assert [request.index for request in fake_llm.requests] == list(range(20))


@both
def test_a_gate_holds_the_stream_until_it_is_released(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(Reply.text(["one", Gate("g"), "two"]))
    with client.stream("POST", address(fake_llm, protocol), json=body(protocol)) as response:
        parts = response.iter_raw()
        received = b""
        while "one" not in parse(received).text:
            received += next(parts)
        fake_llm.wait_gate_reached("g")
        assert parse(received).text == "one"
        fake_llm.release("g")
        received += b"".join(parts)
    assert parse(received).text == "onetwo"


def test_a_gate_released_ahead_does_not_hold(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.release("g")
    fake_llm.script(Reply.text(["one", Gate("g"), "two"]))
    assert hear(client, fake_llm, "anthropic").text == "onetwo"
    fake_llm.wait_gate_reached("g")


def test_a_gate_holds_an_answer_without_a_stream(fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.of(Gate("g"), text("x")))
    with connected() as client, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, client, fake_llm, "anthropic", stream=False)
        fake_llm.wait_gate_reached("g")
        assert not answer.done()
        fake_llm.release("g")
        assert answer.result(5).json()["content"] == [{"type": "text", "text": "x"}]


def test_one_gate_can_hold_several_answers(fake_llm: FakeLLM) -> None:
    fake_llm.script(*[Reply.text([Gate("g"), "x"])] * 3)
    with connected() as client, ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(hear, client, fake_llm, "openai") for _ in range(3)]
        fake_llm.wait_gate_reached("g", times=3)
        fake_llm.release("g")
        assert [answer.result(5).text for answer in answers] == ["x"] * 3


@both
def test_a_client_that_leaves_is_noticed(fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol) -> None:
    fake_llm.script(Reply.text(["one", Gate("g"), "two"]))
    with client.stream("POST", address(fake_llm, protocol), json=body(protocol)):
        fake_llm.wait_gate_reached("g")
    assert fake_llm.wait_for_disconnect().index == 0


def test_coroutines_wait_for_the_server_too(fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text([Gate("g"), "x"]), Reply.text([Gate("h"), "y"]))

    async def ask_both() -> list[str]:
        async with httpx.AsyncClient(trust_env=False, verify=False, headers=HEADERS, timeout=5) as client:
            url = address(fake_llm, "openai")
            async with asyncio.TaskGroup() as group:
                first = group.create_task(client.post(url, json=body("openai")))
                assert (await fake_llm.request_seen()).model == "fake-large"
                await fake_llm.gate_reached("g")
                fake_llm.release("g")
            second = asyncio.create_task(client.post(url, json=body("openai")))
            assert (await fake_llm.request_seen(2)).index == 1
            await fake_llm.gate_reached("h")
            second.cancel()
            await asyncio.wait([second])
            assert (await fake_llm.disconnect_seen()).index == 1
            return [parse(first.result().content).text]

    assert asyncio.run(ask_both()) == ["x"]


def test_a_wait_in_vain_says_what_came_instead(fake_llm: FakeLLM, client: httpx.Client) -> None:
    client.get(f"{fake_llm.url}/v1/models")
    with pytest.raises(TimeoutError, match=r"request 1 did not come .*GET /v1/models"):
        fake_llm.wait_for_request(timeout=0.001)
    with pytest.raises(TimeoutError, match="gate 'g' did not come"):
        fake_llm.wait_gate_reached("g", timeout=0.001)
    with pytest.raises(TimeoutError, match="disconnect 1 did not come"):
        asyncio.run(fake_llm.disconnect_seen(timeout=0.001))


def test_closing_ends_held_answers_and_all_threads() -> None:
    server = FakeLLM([Reply.stall(), Reply.text(["a", Gate("g")])]).start()
    with connected() as client, ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(ask, client, server, "openai") for _ in range(2)]
        server.wait_gate_reached("stall")
        server.wait_gate_reached("g")
        server.close()
        errors = [answer.exception(5) for answer in answers]
    assert all(isinstance(error, httpx.TransportError) for error in errors)
    assert server.disconnects == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fake-llm")]
    server.close()


def test_refused_connections(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(Reply.text("a"), Reply.text("b"))
    assert hear(client, fake_llm, "openai").text == "a"
    with pytest.raises(httpx.ConnectError):
        client.get(f"{fake_llm.refused_url}/v1/models")
    port = fake_llm.url
    fake_llm.refuse()
    with pytest.raises(httpx.ConnectError):
        ask(client, fake_llm, "openai")
    fake_llm.accept()
    assert hear(client, fake_llm, "openai").text == "b"
    assert fake_llm.url == port


def test_models_are_listed_in_either_form(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.models = ["m/1", "m2"]
    listed = client.get(f"{fake_llm.url}/v1/models").json()
    assert [item["id"] for item in listed["data"]] == ["m/1", "m2"]
    assert (listed["has_more"], listed["data"][0]["type"]) == (False, "model")
    assert client.get(f"{fake_llm.url}/v1/models/m%2F1").json()["display_name"] == "m/1"
    assert client.get(f"{fake_llm.url}/v1/models/m3").json()["error"]["type"] == "not_found_error"
    plain = httpx.get(f"{fake_llm.openai_url}/models", trust_env=False, verify=False).json()
    assert plain["object"] == "list"
    assert [item["object"] for item in plain["data"]] == ["model", "model"]
    assert not fake_llm.generations


def test_tokens_are_counted(fake_llm: FakeLLM, client: httpx.Client) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "x" * 400}]}
    url = f"{fake_llm.url}/v1/messages/count_tokens"
    assert client.post(url, json=request).json()["input_tokens"] > 100
    fake_llm.input_tokens = 0
    assert client.post(url, json=request).json() == {"input_tokens": 0}
    assert client.post(url, json={**request, "max_tokens": 5}).status_code == 400
    fake_llm.problems.clear()


def test_a_route_answers_without_using_the_script(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.routes["/v1/models"] = Reply.error(404)
    fake_llm.script(Reply.text("x"))
    assert client.get(f"{fake_llm.url}/v1/models").status_code == 404
    assert hear(client, fake_llm, "openai").text == "x"


def test_a_key_can_be_demanded(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.api_key = "key"
    fake_llm.script(Reply.text("x"), Reply.text("y"))
    assert hear(client, fake_llm, "anthropic").text == "x"
    bearer = {"authorization": "Bearer key", "x-api-key": ""}
    assert client.post(address(fake_llm, "openai"), json=body("openai"), headers=bearer).status_code == 200
    wrong = client.post(address(fake_llm, "anthropic"), json=body("anthropic"), headers={"x-api-key": "no"})
    assert (wrong.status_code, wrong.json()["error"]["type"]) == (401, "authentication_error")


def test_an_unknown_path_is_a_problem(fake_llm: FakeLLM, client: httpx.Client) -> None:
    response = client.post(f"{fake_llm.url}/v1/v1/messages", json={})
    assert response.status_code == 404
    assert fake_llm.problems == ["nothing answers POST /v1/v1/messages"]
    fake_llm.problems.clear()


def test_a_request_body_may_come_in_chunks(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(Reply.text("x"))
    sent = json.dumps(body("openai")).encode()
    parts = iter([sent[:10], sent[10:11], sent[11:]])
    response = client.post(
        address(fake_llm, "openai"), content=parts, headers={"content-type": "application/json"}
    )
    assert parse(response.content).text == "x"
    assert fake_llm.requests[0].body == sent


def test_the_parser_of_these_tests_drops_what_is_unfinished() -> None:
    assert parse(b'data: {"a": 1}\n\ndata: {"b": 2}\n').data == [{"a": 1}]
    assert parse(b"") == Heard()
