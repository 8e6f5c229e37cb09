"""The plainest client there can be, with which the fake model server itself is tested."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from .fake_llm import FakeLLM
from .fake_llm_request import Protocol

HEADERS = {"x-api-key": "key", "anthropic-version": "2023-06-01"}
PROTOCOLS: tuple[Protocol, ...] = ("anthropic", "openai")


@dataclass(frozen=True)
class Heard:
    """What an event stream said: its data, parsed, with the event names beside it."""

    names: list[str | None] = field(default_factory=list)
    data: list[object] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    @property
    def objects(self) -> list[dict[str, object]]:
        """The data that was a JSON object."""
        return [item for item in self.data if isinstance(item, dict)]

    @property
    def text(self) -> str:
        """The visible text, in either protocol."""
        return "".join(value for kind, value in self.deltas if kind in ("text", "content"))

    @property
    def reasoning(self) -> str:
        """The reasoning, in either protocol."""
        return "".join(value for kind, value in self.deltas if kind in ("thinking", "reasoning_content"))

    @property
    def arguments(self) -> str:
        """The argument text of all tool calls one after the other, in either protocol."""
        found = [value for kind, value in self.deltas if kind == "partial_json"]
        for entry in self.call_entries:
            function = entry.get("function")
            arguments = function.get("arguments") if isinstance(function, dict) else None
            found += [arguments] if isinstance(arguments, str) else []
        return "".join(found)

    @property
    def deltas(self) -> list[tuple[str, str]]:
        """Each string in a delta with its key, in order."""
        parts: list[object] = []
        for item in self.objects:
            choices = item.get("choices")
            parts += [item.get("delta")] if "delta" in item else []
            parts += [choice["delta"] for choice in choices] if isinstance(choices, list) else []
        return [
            (str(key), value)
            for part in parts
            if isinstance(part, dict)
            for key, value in part.items()
            if isinstance(value, str)
        ]

    @property
    def call_entries(self) -> list[dict[str, object]]:
        """The entries of `tool_calls` in OpenAI deltas."""
        found: list[dict[str, object]] = []
        for item in self.objects:
            choices = item.get("choices")
            for choice in choices if isinstance(choices, list) else []:
                found += choice["delta"].get("tool_calls") or []
        return found


@contextmanager
def connected() -> Iterator[httpx.Client]:
    """A client that knows no proxy, loads no certificates and waits five seconds at most."""
    with httpx.Client(trust_env=False, verify=False, timeout=5, headers=HEADERS) as client:
        yield client


def address(server: FakeLLM, protocol: Protocol) -> str:
    """Where an answer is asked for."""
    path = "/v1/messages" if protocol == "anthropic" else "/v1/chat/completions"
    return f"{server.url}{path}"


def body(protocol: Protocol, **more: object) -> dict[str, object]:
    """A request both services accept."""
    base: dict[str, object] = {
        "model": "fake-large",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 100,
        "stream": True,
    }
    if protocol == "openai" and more.get("stream") is not False:
        base["stream_options"] = {"include_usage": True}
    return {**base, **more}


def ask(client: httpx.Client, server: FakeLLM, protocol: Protocol, **more: object) -> httpx.Response:
    """Ask for an answer and read all of it."""
    return client.post(address(server, protocol), json=body(protocol, **more))


def hear(client: httpx.Client, server: FakeLLM, protocol: Protocol, **more: object) -> Heard:
    """Ask for a stream, which must come to its end, and parse it."""
    response = ask(client, server, protocol, **more)
    assert response.status_code == 200, response.text
    return parse(response.content)


def hear_broken(
    client: httpx.Client, server: FakeLLM, protocol: Protocol, *, release: str | None = None
) -> tuple[Heard, str]:
    """Ask for a stream that breaks; what was heard until then, and the name of the error.

    With `release`, that gate is opened once some text was heard.
    """
    received = b""
    try:
        with client.stream("POST", address(server, protocol), json=body(protocol)) as response:
            for part in response.iter_raw():
                received += part
                if release is not None and parse(received).text:
                    server.release(release)
    except httpx.TransportError as error:
        return parse(received), type(error).__name__
    raise AssertionError(f"the stream came to its end: {received!r}")


def parse(stream: bytes) -> Heard:
    """Parse an event stream as the specification says; bytes after the last blank line are dropped."""
    heard = Heard()
    name: str | None = None
    data: list[str] = []
    *lines, _unfinished = re.split(r"\r\n|\n|\r", stream.decode())
    for line in lines:
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            joined = "\n".join(data)
            if joined:
                heard.names.append(name)
                heard.data.append(joined if joined == "[DONE]" else json.loads(joined))
            name, data = None, []
        elif not key:
            heard.comments.append(value)
        elif key == "event":
            name = value
        elif key == "data":
            data.append(value)
    return heard
