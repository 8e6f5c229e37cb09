"""Turns over a real wire: the agent, our provider and transport, and the fake model server on loopback.

Each test that asks for ``wire`` runs once for each protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from mewcode.agent.agent import Agent, Run
from mewcode.core.events import AgentEvent
from mewcode.core.message import ToolResult
from mewcode.providers.anthropic import AnthropicProtocol
from mewcode.providers.base import Endpoint
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.http_provider import HttpProvider
from mewcode.providers.openai_chat import OpenAIChatProtocol
from mewcode.providers.transport import Transport
from tests.support.fake_llm import FakeLLM
from tests.support.sample_agent import run_turn, sample_agent

Name = Literal["anthropic", "openai"]
OnEvent = Callable[[AgentEvent, Run], object]


@dataclass
class Turn:
    """What a turn left behind."""

    events: list[AgentEvent]
    run: Run
    agent: Agent

    @property
    def result(self):
        return self.run.result

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def roles(self) -> list[str]:
        return [message.role for message in self.agent.conversation.messages]

    def results(self) -> list[ToolResult]:
        return [result for message in self.agent.conversation.messages for result in message.tool_results]


@dataclass
class Wire:
    """One protocol against the fake server. ``base_url`` replaces the server's own."""

    name: Name
    server: FakeLLM
    base_url: str = ""
    api_key: str = "test-key"
    read_timeout: float = 60.0

    @property
    def model(self) -> ModelInfo:
        thinking: Literal["adaptive", "none"] = "adaptive" if self.name == "anthropic" else "none"
        return ModelInfo(name="fake-large", max_output=4_096, vision=True, thinking=thinking)

    def provider(self) -> HttpProvider:
        ours = self.server.url if self.name == "anthropic" else self.server.openai_url
        protocol = AnthropicProtocol() if self.name == "anthropic" else OpenAIChatProtocol()
        endpoint = Endpoint(self.base_url or ours, self.api_key)
        return HttpProvider(self.name, protocol, endpoint, Transport("mewcode/test", self.read_timeout))

    @asynccontextmanager
    async def agent(self, *tools, **settings) -> AsyncIterator[Agent]:
        provider = self.provider()
        try:
            yield sample_agent(provider, *tools, **{"model": self.model, **settings})
        finally:
            await provider.aclose()

    def turn(self, *tools, prompt: str = "go", on_event: OnEvent | None = None, **settings) -> Turn:
        """One whole turn in a loop of its own, with a limit of time that only a hang reaches."""

        async def scenario() -> Turn:
            async with asyncio.timeout(20), self.agent(*tools, **settings) as agent:
                return Turn(*await run_turn(agent, prompt, on_event), agent)

        return asyncio.run(scenario())

    def sent(self, number: int = -1) -> dict[str, Any]:
        """The body of a request for an answer."""
        body = self.server.generations[number].json
        assert isinstance(body, dict)
        return body


@pytest.fixture(params=["anthropic", "openai"])
def wire(request: pytest.FixtureRequest, fake_llm: FakeLLM) -> Wire:
    return Wire(request.param, fake_llm)


@pytest.fixture
def openai_wire(fake_llm: FakeLLM) -> Wire:
    return Wire("openai", fake_llm)


@pytest.fixture
def anthropic_wire(fake_llm: FakeLLM) -> Wire:
    return Wire("anthropic", fake_llm)
