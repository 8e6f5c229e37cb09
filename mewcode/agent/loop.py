"""The loop: a step of the model, a step of its tools, until there is no call, or a limit.

It never prints, touches no file and knows no front end. Cancelling it leaves the conversation whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from mewcode.agent.conversation import Conversation, new_message
from mewcode.agent.interjections import Interjections
from mewcode.agent.model_step import model_step
from mewcode.agent.ports import Answer, Emit, Keeper
from mewcode.agent.tool_runner import ToolRunner
from mewcode.core.events import Notice, StepEnded, StepStarted, StopCause
from mewcode.core.message import Message, Text, Usage
from mewcode.core.stream import StopReason
from mewcode.providers.base import ModelRequest, Provider
from mewcode.providers.retry import RetryPolicy

MakeRequest = Callable[[Literal["auto", "none"]], ModelRequest]

_UNUSABLE_IN_A_ROW = 3
_CONTINUATIONS = 3

_LIMIT_REACHED = (
    "The step limit of this turn is reached and no tool can be used any more. Report now, in a few lines: "
    "what is done, what is left, and how to go on."
)
_CUT_OFF = "Your answer was cut off at the output limit. Go on exactly where it stopped; repeat nothing."


class Limits(msgspec.Struct, frozen=True):
    """``max_steps``: steps of the model in one turn. ``max_cost_usd``: dollars of this session, if known."""

    max_steps: int = 100
    max_cost_usd: float | None = None


class Ending(msgspec.Struct, frozen=True):
    """How the loop ended by itself; ``explanation`` is for the user."""

    stop: StopCause
    text: str
    explanation: str = ""


class Loop:
    """One turn's loop over a conversation that ends in the user's message."""

    def __init__(
        self,
        provider: Provider,
        tools: ToolRunner,
        conversation: Conversation,
        make_request: MakeRequest,
        emit: Emit,
        *,
        limits: Limits,
        retry: RetryPolicy,
        interjections: Interjections,
        cost: Callable[[], float | None],
        keeper: Keeper | None = None,
    ) -> None:
        self._provider = provider
        self._tools = tools
        self._conversation = conversation
        self._make_request = make_request
        self._emit = emit
        self._limits = limits
        self._retry = retry
        self._interjections = interjections
        self._cost = cost
        self._keeper = keeper
        self.steps = 0
        self._step_usage = Usage()
        self._unusable = 0
        self._cut_off = 0

    async def run(self) -> Ending:
        """Raises `ProviderError` when the model's service does not answer, CancelledError when stopped."""
        while True:
            self.steps += 1
            self._emit(StepStarted(self.steps))
            self._step_usage = Usage()
            try:
                ending = await self._step(is_last=self.steps > self._limits.max_steps)
            finally:
                self._emit(StepEnded(self.steps, self._step_usage))
            if ending is not None:
                return ending

    async def _step(self, *, is_last: bool) -> Ending | None:
        if is_last:
            self._conversation.remind(_LIMIT_REACHED, self._emit)
        message, reason = await self._model_step("none" if is_last else "auto")
        self._step_usage = message.usage or Usage()
        ending = await self._after_answer(message, reason, is_last)
        if ending is None and message.tool_calls:
            ending = await self._tool_step(message)
        if ending is None and (why := self._over_budget()):
            ending = Ending("budget", message.text, why)
        return ending

    async def _model_step(self, tool_choice: Literal["auto", "none"]) -> Answer:
        async def send(request: ModelRequest) -> Answer:
            return await model_step(self._provider, request, self._conversation, self._emit, self._retry)

        if self._keeper is None:
            return await send(self._make_request(tool_choice))
        return await self._keeper.answer(lambda: self._make_request(tool_choice), send, self._emit)

    async def _after_answer(self, message: Message, reason: StopReason, is_last: bool) -> Ending | None:
        """The turn's ending, or None to go on."""
        if is_last:
            # Some servers let calls through that were forbidden; each call must have its result.
            self._tools.refuse(message.tool_calls, self._conversation, self._emit)
            return Ending("limit", message.text, f"the limit of {self._limits.max_steps} steps is reached")
        if message.tool_calls:
            return None
        if reason == "refusal":
            return Ending("refusal", message.text, "the model refused to answer this")
        if reason == "pause":
            return None
        if reason == "max_tokens" and message.content and self._cut_off < _CONTINUATIONS:
            self._cut_off += 1
            self._conversation.remind(_CUT_OFF, self._emit)
            return None
        if reason == "context_window":
            return Ending("error", message.text, "the conversation fills the window; use /compact or /clear")
        if await self._add_interjections():
            return None
        if not message.content:
            self._emit(Notice("warning", "the model answered with nothing", "Ask again in other words."))
        return Ending("done", message.text)

    async def _tool_step(self, message: Message) -> Ending | None:
        step = await self._tools.run(message.tool_calls, self._conversation, self._emit)
        if step.denied:
            return Ending("denied", message.text)
        self._unusable = self._unusable + 1 if step.unusable == len(message.tool_calls) else 0
        if self._unusable >= _UNUSABLE_IN_A_ROW:
            return Ending(
                "error",
                message.text,
                f"in {self._unusable} answers in a row the model made no tool call that can be run "
                "(unknown tools or malformed arguments); try another model",
            )
        await self._add_interjections()
        return None

    async def _add_interjections(self) -> bool:
        said = False
        while (waiting := await self._interjections.next()) is not None:
            text, brought = waiting
            message = new_message("user", (Text(text), *brought.images), "user")
            self._conversation.add(message, self._emit, sync=True)
            for reminder in brought.reminders:
                self._conversation.remind(reminder, self._emit)
            said = True
        return said

    def _over_budget(self) -> str:
        """Why the session's cost limit ends the turn here; empty where it does not."""
        limit, cost = self._limits.max_cost_usd, self._cost()
        if limit is None:
            return ""
        if cost is None:
            return (
                "the model's price is unknown, so --max-cost cannot be kept; give it as models.<name>.price"
            )
        return "the cost limit of this session is reached" if cost >= limit else ""
