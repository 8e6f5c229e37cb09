"""A conversation that is continued and too long for the model's window: a model sums up what is old. That is
done on what was read of it, and nothing is written."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from mewcode.agent.fit import SUMMARY_ID
from mewcode.agent.ports import Emit
from mewcode.context.thresholds import Room
from mewcode.core.events import Compacted, CompactionFailed, CompactionStarted
from mewcode.core.ids import new_id
from mewcode.core.message import Message

if TYPE_CHECKING:
    from mewcode.agent.context_keeper import ContextKeeper
    from mewcode.agent.ports import Compactor, Past
    from mewcode.agent.session import Session
    from mewcode.agent.summarising import Spending, Written

    _Found = tuple[Written, Sequence[Message]] | None

_LOG = logging.getLogger("mewcode.session")

TIME_LIMIT = 90.0
"""Seconds for one model: somebody waits to go on."""
_SHOWN, _LOOKED_AT = 30_000, 1
"""See `agent.summarising.Reach`."""


class PastSummary:
    """`agent.ports.Compactor` with a model; ``fallback`` is one without, for where that fails. ``emit`` is
    told of it as `core.events` says."""

    def __init__(
        self,
        session: Session,
        keeper: ContextKeeper,
        fallback: Compactor,
        emit: Emit,
    ) -> None:
        self._session = session
        self._keeper = keeper
        self._fallback = fallback
        self._emit = emit
        self._limit: asyncio.Timeout | None = None

    def stop(self) -> None:
        """The model is not waited for any more: ``fallback`` does it, at once. Called in the event loop."""
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def compact(self, messages: Sequence[Message], budget: int, past: Past) -> Sequence[Message]:
        """See `Compactor.compact`. What a model cannot do, ``fallback`` does."""
        agent, began = self._session.agent, time.monotonic()
        limits, fixed = self._keeper.thresholds, self._keeper.fixed
        size = self._keeper.meter.sizer(agent.model.name)
        recent = _newest(messages, size, _SHOWN * (_LOOKED_AT + 1))
        # What was not looked at is taken to be like the rest.
        before = fixed + sum(map(size, recent)) * len(messages) // max(1, len(recent))
        self._emit(CompactionStarted("resumed", before, limits.window))
        from mewcode.agent.summarising import Spending  # most continued sessions fit

        spending = Spending(agent.conversation.count)
        said: Compacted | CompactionFailed = CompactionFailed("resumed", "it was stopped", stopped=True)
        try:
            found = await self._unless_stopped(self._summed_up(recent, budget, past, spending))
            kept: Sequence[Message] = found[1] if found is not None else ()
            if found is None:
                kept = await self._fallback.compact(messages, budget, past)
            count = len(messages) - len(
                {message.id for message in messages} & {message.id for message in kept}
            )
            said = Compacted(
                "resumed",
                before,
                fixed + sum(map(size, kept)),
                count,
                found[0].summary.text if found is not None else "",
                found[0].by if found is not None else "",
                seconds=round(time.monotonic() - began, 3),
                usage=spending.usage,
            )
        finally:
            self._emit(said)
        return kept

    async def _unless_stopped(self, work: Awaitable[_Found]) -> _Found:
        try:
            async with asyncio.timeout(None) as self._limit:
                return await work
        except TimeoutError:
            if self._limit is None or not self._limit.expired():
                raise
            return None
        finally:
            self._limit = None

    async def _summed_up(
        self, messages: Sequence[Message], budget: int, past: Past, spending: Spending
    ) -> _Found:
        """The conversation with a summary; None where there is none to be had."""
        from mewcode.agent.summarising import Reach
        from mewcode.context.keep import keep
        from mewcode.context.summary import render

        size = self._keeper.meter.sizer(self._session.model.name)
        room = self._keeper.thresholds.room(self._keeper.fixed)
        room = Room(min(room.tail, budget // 3), min(room.words, budget // 6), min(room.summary, budget // 6))
        kept = keep(messages, size, room)
        if not kept.summarized:
            return None
        written = await self._keeper.summarizer.write(
            kept.summarized,
            spending,
            most=room.summary,
            previous=_unread(past),
            time_limit=TIME_LIMIT,
            reach=Reach(_SHOWN, _LOOKED_AT),
        )
        if isinstance(written, str):
            _LOG.info("a continued session is cut: %s", written)
            return None
        ids = [message.id for message in kept.summarized]
        head = render(written.summary, ids, past.files[-1], message_id=f"{SUMMARY_ID}{new_id()}")
        return written, (head, *kept.messages)


def _newest(messages: Sequence[Message], size: Callable[[Message], int], most: int) -> Sequence[Message]:
    """The newest messages of about so many tokens, from a step's beginning on, and the first one."""
    begin, left = len(messages), most
    while begin > 1 and (left > 0 or messages[begin].role == "tool"):
        begin -= 1
        left -= size(messages[begin])
    return messages if begin <= 1 else (messages[0], *messages[begin:])


def _unread(past: Past) -> str:
    """What is known of the part that was not read."""
    if past.is_whole or not past.first_prompt:
        return ""
    return f"(Of what came before, only this is known: it began with the user's words: {past.first_prompt})"
