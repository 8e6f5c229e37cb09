"""The variations of servers that call themselves OpenAI compatible."""

from __future__ import annotations

import httpx

from tests.support.fake_llm import Dialect, FakeLLM, Reply, Usage, text, thinking, tool_call
from tests.support.fake_llm_client import Heard, ask, hear

CALLS = Reply.of(
    thinking("hm"),
    text("I look"),
    tool_call("read", {"path": "a"}, id="A", chunks=3),
    tool_call("grep", {"pattern": "b"}, id="B", chunks=2),
    usage=Usage(input=3, output=4),
)
WHOLE = '{"path": "a"}', '{"pattern": "b"}'


def told(server: FakeLLM, client: httpx.Client, dialect: Dialect, reply: Reply = CALLS) -> Heard:
    """What a server of this dialect says."""
    server.dialect = dialect
    server.script(reply)
    return hear(client, server, "openai")


def choices(heard: Heard) -> list[dict[str, object]]:
    return [
        choice
        for item in heard.objects
        if isinstance(found := item["choices"], list)
        for choice in found
        if isinstance(choice, dict)
    ]


def arguments(heard: Heard) -> list[object]:
    functions = [entry["function"] for entry in heard.call_entries]
    return [function["arguments"] for function in functions if isinstance(function, dict)]


def test_no_index(fake_llm: FakeLLM, client: httpx.Client) -> None:
    heard = told(fake_llm, client, Dialect(tool_index=False))
    assert not any("index" in entry for entry in heard.call_entries)
    assert [entry["id"] for entry in heard.call_entries if "id" in entry] == ["A", "B"]
    assert heard.arguments == "".join(WHOLE)


def test_id_and_name_in_every_delta(fake_llm: FakeLLM, client: httpx.Client) -> None:
    heard = told(fake_llm, client, Dialect(tool_id="every", repeat_name=True))
    assert [entry["id"] for entry in heard.call_entries] == ["A"] * 4 + ["B"] * 3
    assert all(entry["type"] == "function" for entry in heard.call_entries)


def test_no_id_at_all(fake_llm: FakeLLM, client: httpx.Client) -> None:
    assert not any("id" in entry for entry in told(fake_llm, client, Dialect(tool_id="never")).call_entries)


def test_interleaved_calls(fake_llm: FakeLLM, client: httpx.Client) -> None:
    heard = told(fake_llm, client, Dialect(interleave_calls=True))
    assert [entry["index"] for entry in heard.call_entries] == [0, 1, 0, 1, 0, 1, 0]


def test_whole_call_in_one_delta(fake_llm: FakeLLM, client: httpx.Client) -> None:
    assert arguments(told(fake_llm, client, Dialect(whole_call=True))) == list(WHOLE)


def test_arguments_as_an_object(fake_llm: FakeLLM, client: httpx.Client) -> None:
    dialect = Dialect(arguments_object=True)
    assert arguments(told(fake_llm, client, dialect)) == [{"path": "a"}, {"pattern": "b"}]
    broken = Reply.of(tool_call("read", raw_json="{"))
    assert arguments(told(fake_llm, client, dialect, broken)) == ["{"]


def test_content_that_is_null_or_empty(fake_llm: FakeLLM, client: httpx.Client) -> None:
    for dialect, filler in ((Dialect(null_content=True), None), (Dialect(empty_content=True), "")):
        heard = told(fake_llm, client, dialect)
        deltas = [choice["delta"] for choice in choices(heard)]
        assert [delta["content"] for delta in deltas if isinstance(delta, dict) and delta["content"]] == [
            "I look"
        ]
        assert all(isinstance(delta, dict) and delta["content"] in (filler, "I look") for delta in deltas)


def test_null_fields(fake_llm: FakeLLM, client: httpx.Client) -> None:
    heard = told(fake_llm, client, Dialect(null_fields=True))
    known = {"role", "content", "reasoning_content", "tool_calls", "refusal", "function_call"}
    for choice in choices(heard):
        assert isinstance(choice["delta"], dict)
        assert set(choice["delta"]) == known
        assert choice["logprobs"] is None
    assert heard.objects[0]["usage"] is None
    assert heard.call_entries[0]["function"] == {"name": "read", "arguments": None}
    assert heard.call_entries[1]["id"] is None
    assert heard.arguments == "".join(WHOLE)
    fake_llm.script(CALLS)
    message = ask(client, fake_llm, "openai", stream=False).json()["choices"][0]["message"]
    assert message["refusal"] is None


def test_usage_in_all_places(fake_llm: FakeLLM, client: httpx.Client) -> None:
    def places(dialect: Dialect) -> list[tuple[bool, bool]]:
        heard = told(fake_llm, client, dialect)
        return [(bool(item["choices"]), bool(item.get("usage"))) for item in heard.objects]

    assert not any(used for _, used in places(Dialect(usage="never")))
    assert places(Dialect(usage="own_chunk"))[-1] == (False, True)
    assert places(Dialect(usage="last_chunk"))[-2:] == [(True, False), (True, True)]
    assert all(used for _, used in places(Dialect(usage="every_chunk")))
    assert places(Dialect())[-1] == (False, True)
    fake_llm.dialect = Dialect(usage="never")
    fake_llm.script(CALLS)
    assert "usage" not in ask(client, fake_llm, "openai", stream=False).json()


def test_names_of_the_reasoning(fake_llm: FakeLLM, client: httpx.Client) -> None:
    assert ("reasoning", "hm") in told(fake_llm, client, Dialect(reasoning_field="reasoning")).deltas
    deltas = told(fake_llm, client, Dialect(reasoning_field="both")).deltas
    assert {("reasoning", "hm"), ("reasoning_content", "hm")} <= set(deltas)


def test_a_wrong_finish_reason(fake_llm: FakeLLM, client: httpx.Client) -> None:
    heard = told(fake_llm, client, Dialect(finish_reason="stop"))
    assert [choice["finish_reason"] for choice in choices(heard)][-1] == "stop"
    assert heard.call_entries


def test_no_done(fake_llm: FakeLLM, client: httpx.Client) -> None:
    assert "[DONE]" not in told(fake_llm, client, Dialect(done=False)).data


def test_a_reply_can_have_a_dialect_of_its_own(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(Reply.calls(("read", {}), dialect=Dialect(tool_index=False)), Reply.calls(("read", {})))
    assert "index" not in hear(client, fake_llm, "openai").call_entries[0]
    assert "index" in hear(client, fake_llm, "openai").call_entries[0]


def test_reasoning_wanted_back(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.dialect = Dialect(wants_reasoning_back=True)
    fake_llm.script(Reply.text("ok"))
    call = {"id": "A", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    asked: dict[str, object] = {"role": "assistant", "content": None, "tool_calls": [call]}
    user = {"role": "user", "content": "hi"}
    answer = {"role": "tool", "tool_call_id": "A", "content": "x"}
    response = ask(client, fake_llm, "openai", messages=[user, asked, answer])
    assert "Missing `reasoning_content`" in response.json()["error"]["message"]
    fake_llm.problems.clear()
    asked["reasoning_content"] = "hm"
    assert ask(client, fake_llm, "openai", messages=[user, asked, answer]).status_code == 200
