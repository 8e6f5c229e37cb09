"""An agent: a conversation with a model that has tools. Front ends and the library drive it turn by turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

from mewcode.agent.conversation import Conversation, new_message
from mewcode.agent.interjections import Interjections
from mewcode.agent.loop import Ending, Limits, Loop
from mewcode.agent.ports import Emit, Keeper
from mewcode.agent.run import Run
from mewcode.agent.tool_runner import ToolRunner
from mewcode.core.errors import MewCodeError
from mewcode.core.events import Notice, RunResult, TurnEnded, TurnStarted
from mewcode.core.message import ContentBlock, Image, Text, Usage
from mewcode.core.tool_spec import ToolSpec
from mewcode.providers.base import ModelRequest, Provider
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.retry import RetryPolicy

__all__ = ["Agent", "Run"]  # who has an agent deals with its runs

STOPPED = "The user interrupted the turn here."


class Agent:
    """The parts of a session, joined. One turn runs at a time. ``model`` may be set at any time, for the next
    request on; ``system`` before the first."""

    def __init__(
        self,
        *,
        session_id: str,
        provider: Provider,
        tools: ToolRunner,
        conversation: Conversation,
        find_model: Callable[[str], ModelInfo],
        model: ModelInfo | None = None,
        system: tuple[str, ...] = (),
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        prepare: Callable[[str, Emit], Awaitable[None]] | None = None,
        finish: Callable[[], None] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        """``find_model`` gives the facts, such as the price, of a model that was used before. ``prepare`` is
        awaited with the user's words at the start of each turn, before its message is added; what it raises
        ends the turn. It has to set a model and a prompt where none is given here. ``finish`` is called at
        the end of each turn, however it ended, and must not raise. ``keeper`` makes room in the model's
        window; without one the conversation grows until the service refuses it."""
        self.session_id = session_id
        self.provider = provider
        self.model = model or ModelInfo()
        self.system = system
        self.tools = tools
        self.conversation = conversation
        self.limits = limits or Limits()
        self.retry = retry or RetryPolicy()
        self.interjections = Interjections()
        self._find_model = find_model
        self._prepare = prepare
        self._finish = finish
        self._keeper = keeper
        self._specs = tools.registry.specs()
        self._reminders: list[str] = []
        self._one_at_a_time = asyncio.Lock()

    def run(self, prompt: str, images: Sequence[Image] = ()) -> Run:
        """A turn with ``prompt``; it begins when the context is entered. Raises RuntimeError while another
        turn runs."""
        if self._one_at_a_time.locked():
            raise RuntimeError("a turn is running already")
        text: tuple[ContentBlock, ...] = (Text(prompt),) if prompt else ()
        return Run(self._one_at_a_time, partial(self._turn, (*text, *images)))

    @property
    def is_running(self) -> bool:
        """Whether a turn runs."""
        return self._one_at_a_time.locked()

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Within it no turn begins. Raises RuntimeError while one runs."""
        if self.is_running:
            raise RuntimeError("a turn is running already")
        async with self._one_at_a_time:
            yield

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them, the same for the whole session."""
        return self._specs

    def remind(self, text: str) -> None:
        """Says ``text`` to the model along with the next user message."""
        self._reminders.append(text)

    @property
    def reminders(self) -> tuple[str, ...]:
        """What is to be said with the next user message, in order."""
        return tuple(self._reminders)

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
            info = self.model if name == self.model.name else self._find_model(name)
            cost = info.cost(usage)
            if cost is None:
                return None
            total += cost
        return total

    @property
    def usage(self) -> Usage:
        return sum(self.conversation.usage.values(), Usage())

    def request(self, tool_choice: Literal["auto", "none"]) -> ModelRequest:
        """What the next step would send."""
        return ModelRequest(self.model, self.system, self.conversation.so_far(), self._specs, tool_choice)

    async def _turn(self, content: tuple[ContentBlock, ...], run: Run) -> None:
        """The work of a `Run`: one turn from its `TurnStarted` to its `TurnEnded`."""
        started = time.monotonic()
        run.emit(TurnStarted(self.session_id))
        loop = Loop(
            self.provider,
            self.tools,
            self.conversation,
            self.request,
            run.emit,
            limits=self.limits,
            retry=self.retry,
            interjections=self.interjections,
            cost=lambda: self.cost_usd,
            keeper=self._keeper,
        )
        before = self.usage
        ending, exit_code, hint = Ending("error", ""), 1, ""
        try:
            if self._prepare is not None:
                await self._prepare(
                    "".join(block.text for block in content if isinstance(block, Text)), run.emit
                )
            self._add_prompt(content, run.emit)
            if run.stop_asked:
                raise asyncio.CancelledError
            ending = await loop.run()
            exit_code = 0 if ending.stop in ("done", "denied", "limit") else 1
        except MewCodeError as error:
            ending, exit_code, hint = Ending("error", "", error.message), error.exit_code, error.hint
        except asyncio.CancelledError:
            self.conversation.remind(STOPPED, run.emit)
            ending, exit_code = Ending("interrupted", self._last_text()), 130
        except Exception as error:
            # The consumer must see an end whatever happened; the scope logs the trace.
            ending = Ending("error", "", f"unexpected: {type(error).__name__}: {error}")
            raise
        finally:
            result = RunResult(
                text=ending.text,
                stop=ending.stop,
                steps=loop.steps,
                usage=_difference(self.usage, before),
                cost_usd=self.cost_usd,
                duration_ms=round((time.monotonic() - started) * 1000),
                error=ending.explanation,
                hint=hint,
                exit_code=exit_code,
            )
            if self._finish is not None:
                self._finish()
            run.emit(TurnEnded(result))

    def _add_prompt(self, content: tuple[ContentBlock, ...], emit: Emit) -> None:
        if not self.model.vision and any(isinstance(block, Image) for block in content):
            emit(Notice("warning", f"{self.model.name} takes no images: it is told that one was left out"))
        self.conversation.add(new_message("user", content, "user", self.model.name), emit, sync=True)
        for text in self._reminders:
            self.conversation.remind(text, emit)
        self._reminders.clear()

    def _last_text(self) -> str:
        for message in reversed(self.conversation.messages):
            if message.role == "assistant":
                return message.text
            if message.is_said:
                break
        return ""


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.input_tokens - before.input_tokens,
        after.output_tokens - before.output_tokens,
        after.cache_read_tokens - before.cache_read_tokens,
        after.cache_write_tokens - before.cache_write_tokens,
    )
