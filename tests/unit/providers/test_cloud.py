"""Claude on the clouds: the SDK's Vertex client against the fake server, a client of our own for Bedrock."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest

from mewcode.core.errors import (
    AuthError,
    BadRequest,
    ConnectionFailed,
    NotConfigured,
    Overloaded,
    RateLimited,
    StreamBroken,
)
from mewcode.core.message import Message, Text, Thinking, Usage
from mewcode.core.stream import Done
from mewcode.core.tool_spec import ToolSpec
from mewcode.providers.base import Endpoint, ModelRequest
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.cloud import CloudProvider
from tests.support import fake_llm as fake
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.stream_order import blocks_of, check_stream

# The HTTP library of the SDK: httpx, and in its newer versions the successor.
sdk_http = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")

REQUEST = ModelRequest(
    ModelInfo(name="claude-test"),
    ("system",),
    (Message("u", "user", (Text("hi"),)),),
    (ToolSpec("bash", "Runs.", {"type": "object"}),),
)
PATH = "/v1/messages/projects/p/locations/r/publishers/anthropic/models/claude-test:streamRawPredict"


def _collect(provider: CloudProvider) -> list:
    async def scenario() -> list:
        try:
            events = [event async for event in provider.stream(REQUEST)]
        finally:
            await provider.aclose()
        check_stream(events)
        return events

    return asyncio.run(scenario())


def _vertex(server: FakeLLM, reply: Reply) -> list:
    server.routes[PATH] = reply

    def client() -> Any:
        return anthropic.AsyncAnthropicVertex(
            region="r",
            project_id="p",
            access_token="token",
            base_url=f"{server.url}/v1/messages",  # by which the fake server knows its protocol
            max_retries=0,
        )

    return _collect(CloudProvider("vertex", Endpoint(""), client))


def test_an_answer_over_vertex(fake_llm: FakeLLM) -> None:
    reply = Reply.of(
        fake.thinking(["h", "m"], "sig"),
        fake.text("Hello", chunks=2),
        fake.tool_call("bash", {"a": 1}, chunks=2),
        usage=fake.Usage(3, 4, 5, 6),
    )  # fmt: skip
    events = _vertex(fake_llm, reply)
    thinking, text, call = blocks_of(events)
    assert (thinking, text) == (Thinking("hm", "sig", "anthropic"), Text("Hello"))
    assert call.args == {"a": 1}
    assert events[-1] == Done("tool_use", Usage(3, 4, 5, 6))
    (request,) = fake_llm.requests
    assert request.headers["authorization"] == "Bearer token"
    assert request.json["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert request.json["stream"] is True


def test_a_stream_that_breaks_off_is_a_failure(fake_llm: FakeLLM) -> None:
    """Also where the SDK takes it for a whole answer."""
    for how in ("end", "drop"):
        for place in (-1, -2, -3, 3):
            events = _vertex(fake_llm, Reply.text("Hello").cut(place, how))
            assert isinstance(events[-1].error, StreamBroken | ConnectionFailed)
            assert events[-1].error.retryable


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.error(429, retry_after=7), RateLimited),
        (Reply.error(529), Overloaded),
        (Reply.error(500, body="<h1>Oops</h1>"), Overloaded),
        (Reply.error(400, message="no such thing"), BadRequest),
        (Reply.error(404), BadRequest),
        (Reply.error(403), AuthError),
        (Reply.text(["Hel", fake.StreamError("overloaded_error", "Overloaded")]), Overloaded),
        (Reply.reset(), ConnectionFailed),
    ],
)
def test_refusals_are_ours(fake_llm: FakeLLM, reply: Reply, kind: type) -> None:
    error = _vertex(fake_llm, reply)[-1].error
    assert type(error) is kind
    assert error.hint
    assert len(fake_llm.requests) == 1  # the SDK does not try again by itself
    if kind is RateLimited:
        assert error.retry_after == 7.0
    if kind is AuthError:
        assert "gcloud" in error.hint
    if reply.message:
        assert reply.message in error.message


class StubEvent:
    def __init__(self, raw: dict) -> None:
        self._raw = raw

    def to_dict(self, *, mode: str) -> dict:
        assert mode == "json"
        return self._raw


class StubClient:
    """The SDK's client at the seam: ``messages.create`` gives events, or raises."""

    def __init__(self, *events: dict | Exception) -> None:
        self._events = events
        self.messages = self
        self.sent: dict[str, Any] = {}
        self.closed = False

    async def create(self, **body: Any) -> StubClient:
        self.sent = body
        if self._events and isinstance(self._events[0], Exception):
            raise self._events[0]
        return self

    async def __aenter__(self) -> StubClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        return

    async def __aiter__(self) -> AsyncIterator[Any]:
        for event in self._events:
            if isinstance(event, Exception):
                raise event
            yield StubEvent(event)

    async def close(self) -> None:
        self.closed = True


def _bedrock(*events: dict | Exception) -> tuple[list, StubClient]:
    client = StubClient(*events)
    return _collect(CloudProvider("bedrock", Endpoint(""), lambda: client)), client


def test_an_answer_over_bedrock() -> None:
    events, client = _bedrock(
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )
    assert blocks_of(events) == [Text("Hello")]
    assert events[-1] == Done("end_turn", Usage(3, 4))
    assert client.sent["stream"] is True
    assert client.sent["model"] == "claude-test"
    assert client.sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert client.closed


def test_credentials_that_cannot_be_found_are_said() -> None:
    for error in (RuntimeError("could not resolve credentials"), ValueError("no region was given")):
        events, _ = _bedrock(error)
        assert type(events[-1].error) is AuthError
        assert str(error) in events[-1].error.message
        assert "AWS_REGION" in events[-1].error.hint


def test_a_lost_connection_over_bedrock() -> None:
    request = sdk_http.Request("POST", "https://bedrock.example/model")
    start = {"type": "message_start", "message": {}}
    broken, _ = _bedrock(start, sdk_http.RemoteProtocolError("peer closed"))
    assert type(broken[-1].error) is ConnectionFailed
    events, _ = _bedrock(anthropic.APITimeoutError(request))
    assert type(events[-1].error) is ConnectionFailed
    assert "https://bedrock.example" in events[-1].error.message


def test_a_client_that_cannot_be_made_is_a_failure() -> None:
    def client() -> Any:
        raise ValueError("no project")

    events = _collect(CloudProvider("vertex", Endpoint(""), client))
    assert "no project" in events[-1].error.message


def test_the_clouds_list_no_models() -> None:
    with pytest.raises(BadRequest, match="does not list"):
        asyncio.run(CloudProvider("bedrock", Endpoint(""), StubClient).list_models())


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
@pytest.mark.parametrize("missing", ["anthropic", "the cloud's part", "the cloud's parent"])
def test_a_missing_extra_is_named(cloud, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(package: str) -> object:
        if (package == "anthropic") == (missing == "anthropic"):
            if missing == "the cloud's parent":
                raise ModuleNotFoundError
            return None
        return object()

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(NotConfigured) as raised:
        CloudProvider(cloud, Endpoint(""))
    assert f"pip install 'mewcode[{cloud}]'" in raised.value.hint
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1"])
def test_the_sdks_client_is_made_from_the_endpoint(cloud, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: object())
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("CLOUD_ML_REGION", "us-east5")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "p")

    async def scenario() -> Any:
        client = CloudProvider(cloud, Endpoint(url, headers={"x-team": "a"}))._sdk_client()
        await client.close()
        return client

    client = asyncio.run(scenario())
    assert client.max_retries == 0
    assert client.default_headers["x-team"] == "a"
    assert str(client.base_url).startswith(url or "https://")
