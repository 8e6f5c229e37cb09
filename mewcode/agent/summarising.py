"""A summary of old messages, written by a model beside the conversation. What comes of it is a value: nothing
here changes the conversation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mewcode.agent.conversation import new_message
from mewcode.agent.side_call import side_answer
from mewcode.context.summary import Problem, Summary, completed, prompt, read, request
from mewcode.core.errors import MewCodeError, PromptTooLong
from mewcode.core.message import Message, Text, Usage
from mewcode.providers.base import Provider
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.retry import RetryPolicy

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.context.meter import TokenMeter
    from mewcode.context.thresholds import Thresholds

_LOG = logging.getLogger("mewcode.session")

TIME_LIMIT = 240.0
"""Seconds for one model: 8,000 tokens at the pace of a slow one."""


@dataclass(frozen=True, slots=True)
class Reach:
    """``shown``: the most tokens of a conversation that a model is shown, what has more being shortened: a
    longer text costs more and is read worse. ``looked_at``: so many times that is looked at, the newest, of
    a conversation that is longer still; a megabyte takes 0.15 s, in a thread."""

    shown: int = 150_000
    looked_at: int = 8


_USUAL = Reach()
_LEAST_INPUT = 500
_RETRY = RetryPolicy(max_attempts=4, base=1.0, cap=8.0, longest_wait=60.0)

Limits = Callable[[ModelInfo], "Thresholds"]


@dataclass(frozen=True, slots=True)
class _Question:
    messages: Sequence[Message]
    most: int
    instructions: str
    previous: str
    time_limit: float
    reach: Reach


@dataclass(frozen=True, slots=True)
class Written:
    """``by``: the model that wrote it."""

    summary: Summary
    by: str


class Spending:
    """Counts what side calls use for a conversation; ``usage`` is the sum."""

    def __init__(self, count: Callable[[str, Usage], None]) -> None:
        self.usage = Usage()
        self._count = count

    def __call__(self, model: str, usage: Usage) -> None:
        self._count(model, usage)
        self.usage += usage


class Summarizer:
    """Asks the small model where one is set, and the session's own where that fails. ``limits``: what a
    model's window allows; ``too_long`` is told of a request that a service refused as too long, with the
    tokens it was taken to have."""

    def __init__(
        self,
        session: Session,
        meter: TokenMeter,
        limits: Limits,
        too_long: Callable[[ModelInfo, PromptTooLong, int], None],
    ) -> None:
        self._session = session
        self._meter = meter
        self._limits = limits
        self._too_long = too_long

    async def write(
        self,
        messages: Sequence[Message],
        spending: Spending,
        *,
        most: int,
        instructions: str = "",
        previous: str = "",
        time_limit: float = TIME_LIMIT,
        reach: Reach = _USUAL,
    ) -> Written | str:
        """The summary of ``messages``, of about ``most`` tokens, or why there is none. ``previous``: the text
        of the summary of what stands before them. Raises nothing but cancellation."""
        session, why = self._session, ""
        asked = _Question(messages, most, instructions, previous, time_limit, reach)
        with session.in_use.held() as provider:
            for model in dict.fromkeys((session.work.side_model(session), session.model)):
                found = await self._ask(provider, model, asked, spending)
                if isinstance(found, Summary):
                    return Written(completed(found, messages), model.name)
                why = found.reason
                _LOG.info("no summary by %s: %s", model.name, why)
        return why

    async def _ask(
        self, provider: Provider, model: ModelInfo, asked: _Question, spending: Spending
    ) -> Summary | Problem:
        def tokens(text: str) -> int:
            return self._meter.text(model.name, text)

        limits = self._limits(model)
        output = max(min(2 * asked.most, model.max_output, limits.window // 4), 256)
        budget = min(limits.window * 9 // 10 - output - tokens(prompt()), asked.reach.shown)
        replaces = sum(map(self._meter.sizer(model.name), asked.messages)) + tokens(asked.previous)
        for is_last in (False, True):
            if budget < _LEAST_INPUT:
                break
            text = await asyncio.to_thread(
                request,
                self._within(model, asked.messages, budget * asked.reach.looked_at),
                asked.instructions,
                asked.previous,
                budget=budget,
                most=asked.most,
                tokens=tokens,
            )
            try:
                answer, stop = await side_answer(
                    provider,
                    model,
                    prompt(),
                    text,
                    spending,
                    retry=_RETRY,
                    limit=asked.time_limit,
                    most_output=output,
                )
            except PromptTooLong as error:
                self._too_long(model, error, tokens(text))
                if is_last:
                    return Problem(error.message)
                budget //= 2
            except MewCodeError as error:
                return Problem(error.message)
            else:
                return read(answer, stop=stop, replaces=replaces, tokens=tokens)
        return Problem(f"the window of {model.name} is too small for a summary")

    def _within(self, model: ModelInfo, messages: Sequence[Message], most: int) -> Sequence[Message]:
        """The first and the newest messages, where all are more than anyone will be shown of them."""
        size = self._meter.sizer(model.name)
        left, begin = most - size(messages[0]), len(messages)
        while begin > 1 and left > 0:
            begin -= 1
            left -= size(messages[begin])
        if begin <= 1:
            return messages
        gap = f"({begin - 1} messages are left out here)"
        return (messages[0], new_message("user", (Text(gap),), "reminder"), *messages[begin:])
