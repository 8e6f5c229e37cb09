"""An agent: a conversation with a model that has tools. Front ends and the library drive it turn by turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Literal, Self

from mewcode.agent.conversation import Conversation, new_message
from mewcode.agent.interjections import Interjections
from mewcode.agent.loop import Ending, Limits, Loop
from mewcode.agent.tool_runner import ToolRunner
from mewcode.core.errors import MewCodeError
from mewcode.core.events import AgentEvent, Notice, RunResult, TurnEnded, TurnStarted
from mewcode.core.message import ContentBlock, Image, Text, Usage
from mewcode.infra.supervisor import TaskScope
from mewcode.providers.base import ModelRequest, Provider
from mewcode.providers.catalog import Catalog, ModelInfo
from mewcode.providers.retry import RetryPolicy

# Seconds that a stopped turn has for its clean-up; killing a command's group takes two at most.
_PATIENCE = 3.0

_STOPPED = "The user interrupted the turn here."


class Agent:
    """The parts of a session, joined. One turn runs at a time."""

    def __init__(
        self,
        *,
        session_id: str,
        provider: Provider,
        model: ModelInfo,
        system: tuple[str, ...],
        tools: ToolRunner,
        conversation: Conversation,
        catalog: Catalog,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``prepare`` is awaited at the start of each turn, before its message is added; what it raises ends
        the turn."""
        self.session_id = session_id
        self.provider = provider
        self.model = model
        self.system = system
        self.tools = tools
        self.conversation = conversation
        self.limits = limits or Limits()
        self.interjections = Interjections()
        self._catalog = catalog
        self._retry = retry or RetryPolicy()
        self._prepare = prepare
        self._specs = tools.registry.specs()
        self._reminders: list[str] = []
        self._turn: Run | None = None

    def run(self, prompt: str, images: Sequence[Image] = ()) -> Run:
        """A turn with ``prompt``; it begins when the context is entered. Raises RuntimeError while another
        turn runs."""
        if self._turn is not None:
            raise RuntimeError("a turn is running already")
        return Run(self, prompt, images)

    def remind(self, text: str) -> None:
        """Says ``text`` to the model along with the next user message."""
        self._reminders.append(text)

    def take_back(self, text: str) -> bool:
        """Whether a reminder that was not said yet could be taken back."""
        if text not in self._reminders:
            return False
        self._reminders.remove(text)
        return True

    @property
    def cost_usd(self) -> float | None:
        """What this session has cost; None when the price of a model used is unknown."""
        total = 0.0
        for name, usage in self.conversation.usage.items():
            info = self.model if name == self.model.name else self._catalog.find(name)
            cost = info.cost(usage)
            if cost is None:
                return None
            total += cost
        return total

    @property
    def usage(self) -> Usage:
        return sum(self.conversation.usage.values(), Usage())

    def _request(self, tool_choice: Literal["auto", "none"]) -> ModelRequest:
        return ModelRequest(
            self.model, self.system, tuple(self.conversation.messages), self._specs, tool_choice
        )


class Run:
    """One turn: a context that owns its tasks, and an iterator over its events.

    Leaving the context cancels what still runs and waits for it. `interrupt` stops the turn the friendly
    way: what came is kept, and the events go on to the `TurnEnded`.
    """

    def __init__(self, agent: Agent, prompt: str, images: Sequence[Image]) -> None:
        self._agent = agent
        text: tuple[ContentBlock, ...] = (Text(prompt),) if prompt else ()
        self._content = (*text, *images)
        self._events: asyncio.Queue[AgentEvent] = asyncio.Queue()
        self._scope = TaskScope("turn")
        self._task: asyncio.Task[None] | None = None
        self._result: RunResult | None = None
        self._ended = False
        self._begun = False
        self._stop_asked = False

    @property
    def result(self) -> RunResult:
        """How the turn ended. Raises RuntimeError before it has."""
        if self._result is None:
            raise RuntimeError("the turn has not ended")
        return self._result

    def interrupt(self) -> None:
        """Stops the turn; may be called more than once, and after its end."""
        self._stop_asked = True
        # A task that is cancelled before its first step never runs, and its turn would have no end.
        if self._task is not None and self._begun:
            self._task.cancel()

    async def __aenter__(self) -> Self:
        if self._agent._turn is not None:
            raise RuntimeError("a turn is running already")
        self._agent._turn = self
        self._task = self._scope.start("loop", self._work())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._scope.close(patience=_PATIENCE)
        finally:
            self._agent._turn = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        if self._ended:
            raise StopAsyncIteration
        event = await self._events.get()
        self._ended = isinstance(event, TurnEnded)
        return event

    async def _work(self) -> None:
        agent, emit = self._agent, self._events.put_nowait
        self._begun = True
        started = time.monotonic()
        emit(TurnStarted(agent.session_id))
        loop = Loop(
            agent.provider,
            agent.tools,
            agent.conversation,
            agent._request,
            emit,
            limits=agent.limits,
            retry=agent._retry,
            interjections=agent.interjections,
            cost=lambda: agent.cost_usd,
        )
        before = agent.usage
        ending, exit_code, hint = Ending("error", ""), 1, ""
        try:
            if agent._prepare is not None:
                await agent._prepare()
            self._add_prompt()
            if self._stop_asked:
                raise asyncio.CancelledError
            ending = await loop.run()
            exit_code = 0 if ending.stop in ("done", "denied", "limit") else 1
        except MewCodeError as error:
            ending, exit_code, hint = Ending("error", "", error.message), error.exit_code, error.hint
        except asyncio.CancelledError:
            agent.conversation.remind(_STOPPED, emit)
            ending, exit_code = Ending("interrupted", _last_text(agent)), 130
        except Exception as error:
            # The consumer must see an end whatever happened; the scope logs the trace.
            ending = Ending("error", "", f"unexpected: {type(error).__name__}: {error}")
            raise
        finally:
            self._result = RunResult(
                text=ending.text,
                stop=ending.stop,
                steps=loop.steps,
                usage=_difference(agent.usage, before),
                cost_usd=agent.cost_usd,
                duration_ms=round((time.monotonic() - started) * 1000),
                error=ending.explanation,
                hint=hint,
                exit_code=exit_code,
            )
            emit(TurnEnded(self._result))

    def _add_prompt(self) -> None:
        agent, emit = self._agent, self._events.put_nowait
        if not agent.model.vision and any(isinstance(block, Image) for block in self._content):
            emit(Notice("warning", f"{agent.model.name} takes no images: it is told that one was left out"))
        message = new_message("user", self._content, "user", agent.model.name)
        agent.conversation.add(message, emit, sync=True)
        for text in agent._reminders:
            agent.conversation.remind(text, emit)
        agent._reminders.clear()


def _last_text(agent: Agent) -> str:
    for message in reversed(agent.conversation.messages):
        if message.role == "assistant":
            return message.text
        if message.role == "user" and message.origin == "user":
            break
    return ""


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.input_tokens - before.input_tokens,
        after.output_tokens - before.output_tokens,
        after.cache_read_tokens - before.cache_read_tokens,
        after.cache_write_tokens - before.cache_write_tokens,
    )
