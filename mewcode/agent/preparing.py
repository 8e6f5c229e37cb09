"""A summary that is written before it is needed, in the background, of what the conversation is then: when
the window is full, only what came after is added."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mewcode.agent.conversation import Conversation
from mewcode.agent.summarising import Spending, Summarizer, Written
from mewcode.core.message import Message, Usage

if TYPE_CHECKING:
    from mewcode.infra.supervisor import TaskScope

MOST_CALLS = 3
"""Summaries that are written ahead until one is used or all are void."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """``written`` stands for the first ``count`` messages."""

    written: Written
    count: int


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The first ``count`` messages of a conversation, as it was."""

    conversation: Conversation
    times_back: int
    count: int
    last: str

    def holds(self, conversation: Conversation) -> bool:
        """Whether the conversation still begins with them. A result that was replaced by a line changes
        nothing about what was done."""
        messages = conversation.messages
        return (
            conversation is self.conversation
            and conversation.times_back == self.times_back
            and len(messages) >= self.count
            and messages[self.count - 1].id == self.last
        )


class Ahead:
    """``spent``: what was used for all of them in this session, which is counted with its tokens; ``calls``:
    how many were begun since the last one was taken."""

    def __init__(self, scope: TaskScope, summarizer: Summarizer) -> None:
        self.spent = Usage()
        self.calls = 0
        self._scope = scope
        self._summarizer = summarizer
        self._task: asyncio.Task[None] | None = None
        self._snapshot: _Snapshot | None = None
        self._ready: tuple[_Snapshot, Prepared] | None = None

    @property
    def is_running(self) -> bool:
        """Whether one is being written."""
        return self._task is not None and not self._task.done()

    def is_ready(self, conversation: Conversation) -> bool:
        """Whether one could be used now."""
        return self._ready is not None and self._ready[0].holds(conversation)

    def begin(
        self,
        conversation: Conversation,
        old: Callable[[], Sequence[Message]],
        size: Callable[[Message], int],
        most: int,
        *,
        worth: int | None,
    ) -> None:
        """Has one written where there is none, or where ``worth`` tokens came since, with None only where
        there is none. ``old`` gives the first messages of the conversation, those to be summed up. Returns at
        once."""
        if self.is_running or self.calls >= MOST_CALLS:
            return
        ready = self._valid(conversation)
        if ready is not None and worth is None:
            return
        messages = tuple(old())
        before = ready.count if ready is not None else 0
        if len(messages) <= before or (before and sum(map(size, messages[before:])) < (worth or 1)):
            return
        snapshot = _Snapshot(conversation, conversation.times_back, len(messages), messages[-1].id)
        self._snapshot = snapshot
        self.calls += 1
        self._task = self._scope.start("summary", self._write(snapshot, messages, ready, most))

    async def take(self, conversation: Conversation) -> Prepared | None:
        """The summary, once one that is being written is there; None where none is, or the conversation does
        not begin any more with what it stands for. Who is cancelled here does not want it any more."""
        if self._task is not None and self._snapshot is not None and self._snapshot.holds(conversation):
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError:
                self._task.cancel()
                raise
        return self._valid(conversation)

    def drop(self) -> None:
        """What was written is void or used; so is what is being written."""
        if self._task is not None:
            self._task.cancel()
        self._task, self._ready, self.calls = None, None, 0

    def _valid(self, conversation: Conversation) -> Prepared | None:
        if self._ready is None or not self._ready[0].holds(conversation):
            return None
        return self._ready[1]

    async def _write(
        self, snapshot: _Snapshot, messages: Sequence[Message], ready: Prepared | None, most: int
    ) -> None:
        spending = Spending(snapshot.conversation.count)
        before = ready.count if ready is not None else 0
        previous = ready.written.summary.text if ready is not None else ""
        try:
            written = await self._summarizer.write(messages[before:], spending, most=most, previous=previous)
        finally:
            self.spent += spending.usage
        if isinstance(written, Written):
            self._ready = (snapshot, Prepared(written, len(messages)))
