"""A check by someone else: the official SDK talks to the fake model server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anthropic
import pytest
from anthropic.types import Message, MessageParam, ToolParam

from tests.support.fake_llm import FakeLLM, Faults, Reply, StreamError, Usage, text, thinking, tool_call

USER: MessageParam = {"role": "user", "content": "hi"}
TOOL: ToolParam = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
_T = TypeVar("_T")


def with_sdk(server: FakeLLM, use: Callable[[anthropic.AsyncAnthropic], Awaitable[_T]]) -> _T:
    """Run `use` with a client of the SDK that does not retry."""

    async def run() -> _T:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="key", max_retries=0) as client:
            return await use(client)

    return asyncio.run(run())


SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


async def streamed(client: anthropic.AsyncAnthropic) -> Message:
    async with client.messages.stream(
        model="fake-large", max_tokens=4000, messages=[USER], tools=[TOOL]
    ) as stream:
        return await stream.get_final_message()


def test_streams_text_thinking_and_parallel_tools(fake_llm: FakeLLM) -> None:
    fake_llm.script(
        Reply.of(
            thinking("hm, 世界", "sig", chunks=3),
            text("I look", chunks=2),
            tool_call("read", {"path": "a"}, id="toolu_a", chunks=3),
            tool_call("read", {"path": "b"}, chunks=2),
            usage=Usage(input=1, output=2, cache_read=3, cache_write=4),
            faults=Faults(split_every=5, comments=True),
        )
    )
    message = with_sdk(fake_llm, streamed)
    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]
    thought, said, first, second = message.content
    assert thought.type == "thinking"
    assert (thought.thinking, thought.signature) == ("hm, 世界", "sig")
    assert said.type == "text"
    assert said.text == "I look"
    assert first.type == second.type == "tool_use"
    assert (first.id, first.input, second.input) == ("toolu_a", {"path": "a"}, {"path": "b"})
    assert message.stop_reason == "tool_use"
    used = message.usage
    assert (used.input_tokens, used.output_tokens) == (1, 2)
    assert (used.cache_read_input_tokens, used.cache_creation_input_tokens) == (3, 4)


def test_answers_without_a_stream(fake_llm: FakeLLM) -> None:
    async def ask(client: anthropic.AsyncAnthropic) -> Message:
        return await client.messages.create(model="fake-large", max_tokens=10, messages=[USER])

    fake_llm.script(Reply.text("hello", stop_reason="max_tokens"))
    message = with_sdk(fake_llm, ask)
    assert [block.text for block in message.content if block.type == "text"] == ["hello"]
    assert message.stop_reason == "max_tokens"


def test_lists_models_and_counts_tokens(fake_llm: FakeLLM) -> None:
    async def look(client: anthropic.AsyncAnthropic) -> tuple[list[str], str, int]:
        listed = [model.id async for model in client.models.list()]
        one = await client.models.retrieve("fake-small")
        counted = await client.messages.count_tokens(model="fake-large", messages=[USER], tools=[TOOL])
        return listed, one.id, counted.input_tokens

    fake_llm.input_tokens = 42
    assert with_sdk(fake_llm, look) == (["fake-large", "fake-small"], "fake-small", 42)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.APIStatusError),
    ],
)
def test_maps_errors(fake_llm: FakeLLM, status: int, error: type[anthropic.APIStatusError]) -> None:
    fake_llm.script(Reply.error(status, message="said why"))
    with pytest.raises(error, match="said why") as caught:
        with_sdk(fake_llm, streamed)
    assert caught.value.status_code == status
    assert caught.value.request_id == "req_0000"


def test_notices_an_error_inside_a_stream(fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["one", StreamError(message="busy now")]))
    with pytest.raises(anthropic.APIStatusError, match="busy now"):
        with_sdk(fake_llm, streamed)


def test_notices_a_connection_that_fails(fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.reset())
    with pytest.raises(anthropic.APIConnectionError):
        with_sdk(fake_llm, streamed)


def test_is_told_what_is_wrong_with_its_request(fake_llm: FakeLLM) -> None:
    async def ask(client: anthropic.AsyncAnthropic) -> Message:
        return await client.messages.create(
            model="fake-large", max_tokens=10, messages=[{"role": "assistant", "content": "x"}]
        )

    with pytest.raises(anthropic.BadRequestError, match="first message must use the user role"):
        with_sdk(fake_llm, ask)
    fake_llm.problems.clear()


def test_takes_a_schema_as_the_sdk_sends_it(fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text('{"name": "it"}'))

    async def ask(client: anthropic.AsyncAnthropic) -> Message:
        return await client.messages.create(
            model="fake-large",
            max_tokens=100,
            messages=[USER],
            output_config={"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        )

    said = with_sdk(fake_llm, ask).content[0]
    assert said.type == "text"
    assert said.text == '{"name": "it"}'
    assert fake_llm.problems == []
