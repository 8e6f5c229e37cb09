"""A provider over a transport of a test's own: what becomes of chunks, breaks and closings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import BadRequest, ConnectionFailed, Overloaded, ProviderError, StreamBroken
from mewcode.core.message import Message, Text
from mewcode.core.stream import BlockDelta, Done, Failed
from mewcode.providers.base import Endpoint, HttpRequest, ModelRequest
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.http_provider import HttpProvider
from mewcode.providers.openai_chat import OpenAIChatProtocol
from tests.support.stream_order import blocks_of, check_stream

REQUEST = ModelRequest(ModelInfo(name="m"), (), (Message("u", "user", (Text("hi"),)),))
TEXT = b'data: {"choices": [{"delta": {"content": "Hello"}}]}\n\n'
FINISH = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"


class FakeTransport:
    """Gives these chunks; an error among them is raised."""

    def __init__(self, *chunks: bytes | Exception | asyncio.Event) -> None:
        self._chunks = chunks
        self.requests: list[HttpRequest] = []
        self.closed = 0
        self.given = 0

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        self.requests.append(request)
        try:
            for chunk in self._chunks:
                if isinstance(chunk, Exception):
                    raise chunk
                if isinstance(chunk, asyncio.Event):
                    await chunk.wait()
                    continue
                self.given += 1
                yield chunk
        finally:
            self.closed += 1

    async def fetch(self, request: HttpRequest) -> bytes:
        return b"".join([chunk async for chunk in self.stream(request)])

    async def aclose(self) -> None:
        self.closed += 1


def _run(*chunks: bytes | Exception | asyncio.Event) -> tuple[list, FakeTransport]:
    transport = FakeTransport(*chunks)

    async def scenario() -> list:
        provider = HttpProvider("mine", OpenAIChatProtocol(), Endpoint("http://h/v1", "k"), transport)
        events = [event async for event in provider.stream(REQUEST)]
        check_stream(events)
        return events

    return asyncio.run(scenario()), transport


def test_chunks_become_events_and_the_body_is_read_to_its_end() -> None:
    events, transport = _run(TEXT[:20], TEXT[20:] + FINISH, DONE, b": bye\n\n")
    assert blocks_of(events) == [Text("Hello")]
    assert isinstance(events[-1], Done)
    assert transport.given == 4
    assert transport.closed == 1
    assert transport.requests[0].url == "http://h/v1/chat/completions"


def _piece(text: str) -> bytes:
    return b'data: {"choices": [{"delta": {"content": "%s"}}]}\n\n' % text.encode()


def _deltas(events: list) -> list[str]:
    return [event.text for event in events if isinstance(event, BlockDelta)]


def test_what_one_chunk_brings_of_a_block_is_one_delta() -> None:
    thought = b'data: {"choices": [{"delta": {"reasoning": "hm"}}]}\n\n'
    events, _ = _run(
        thought * 2 + _piece("a") + _piece("b")[:9], _piece("b")[9:] + _piece("c") + FINISH + DONE
    )
    assert _deltas(events) == ["hmhm", "a", "bc"]
    assert blocks_of(events)[1] == Text("abc")


def test_a_delta_waits_for_no_other_chunk() -> None:
    async def scenario() -> None:
        transport = FakeTransport(_piece("a") + _piece("b"), asyncio.Event())
        provider = HttpProvider("mine", OpenAIChatProtocol(), Endpoint("http://h/v1"), transport)
        async with aclosing(provider.stream(REQUEST)) as stream:
            await anext(stream)
            assert (await anext(stream)).text == "ab"

    asyncio.run(scenario())


def test_what_came_before_a_failure_is_given_first() -> None:
    broken = b'data: {"error": {"message": "no"}}\n\n'
    events, _ = _run(_piece("a") + _piece("b") + broken)
    assert _deltas(events) == ["ab"]
    assert isinstance(events[-1], Failed)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("ab中", min_size=1), max_size=12), st.lists(st.integers(0, 600), max_size=6))
def test_however_it_is_cut_the_text_is_the_same(texts: list[str], cuts: list[int]) -> None:
    body = b"".join(map(_piece, texts)) + FINISH + DONE
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    events, _ = _run(*(body[start:end] for start, end in pairwise(places)))
    assert "".join(_deltas(events)) == "".join(texts)
    assert len(_deltas(events)) <= len(places) - 1


def test_a_last_event_may_lack_its_blank_line() -> None:
    events, _ = _run(TEXT, FINISH.rstrip())
    assert isinstance(events[-1], Done)


def test_a_body_that_ends_early_is_a_broken_answer() -> None:
    for chunks in ((), (b"",), (TEXT,), (TEXT[:-10],)):
        events, _ = _run(*chunks)
        assert isinstance(events[-1].error, StreamBroken)


def test_an_error_of_the_transport_is_the_answers() -> None:
    for chunks in ((Overloaded("busy"),), (TEXT, Overloaded("busy"))):
        events, transport = _run(*chunks)
        assert events[-1] == Failed(chunks[-1])
        assert transport.closed == 1


def test_a_connection_lost_after_the_finish_has_cost_nothing() -> None:
    events, _ = _run(TEXT, FINISH, ConnectionFailed("reset"))
    assert blocks_of(events) == [Text("Hello")]
    assert isinstance(events[-1], Done)


def test_an_error_while_the_rest_is_read_has_cost_nothing() -> None:
    events, _ = _run(TEXT, FINISH, DONE, ConnectionFailed("reset"))
    assert isinstance(events[-1], Done)


def test_a_server_that_dawdles_after_the_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mewcode.providers.http_provider._DRAIN_LIMIT", 0.001)
    events, transport = _run(TEXT, FINISH, DONE, asyncio.Event())
    assert isinstance(events[-1], Done)
    assert transport.closed == 1


def test_an_endless_event_is_a_broken_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mewcode.providers.sse.MAX_EVENT_BYTES", 10)
    events, _ = _run(b"data: " + b"x" * 20)
    assert "endless" in events[-1].error.message


def test_a_whole_answer_in_pieces() -> None:
    body = b' {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}'
    events, transport = _run(body[:10], body[10:20], body[20:])
    assert blocks_of(events) == [Text("Hello")]
    assert transport.given == 3


def test_a_web_page_is_no_model() -> None:
    events, _ = _run(b"\n<!doctype html>", b"...")
    assert isinstance(events[-1].error, BadRequest)


def test_closing_the_stream_ends_the_connection() -> None:
    async def scenario() -> None:
        transport = FakeTransport(TEXT, asyncio.Event())
        provider = HttpProvider("mine", OpenAIChatProtocol(), Endpoint("http://h/v1"), transport)
        stream = provider.stream(REQUEST)
        await anext(stream)
        await stream.aclose()
        assert transport.closed == 1

    asyncio.run(scenario())


def test_the_list_of_models() -> None:
    async def list_of(body: bytes) -> tuple[str, ...]:
        return await HttpProvider(
            "mine", OpenAIChatProtocol(), Endpoint("http://h/v1"), FakeTransport(body)
        ).list_models()

    assert asyncio.run(list_of(b'{"data": [{"id": "b"}, {"id": "a"}]}')) == ("b", "a")
    for body in (b"", b"[]", b"{}", b'{"data": null}', b'{"data": [{}]}', b'{"data": ["a"]}', b"<html>"):
        with pytest.raises(ProviderError, match="cannot be read"):
            asyncio.run(list_of(body))


def test_closing_the_provider_closes_its_transport() -> None:
    transport = FakeTransport()
    asyncio.run(HttpProvider("mine", OpenAIChatProtocol(), Endpoint("http://h"), transport).aclose())
    assert transport.closed == 1
