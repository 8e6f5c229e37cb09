"""One turn, as who asked for it holds it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from mewcode.core.events import AgentEvent, RunResult, TurnEnded
from mewcode.infra.supervisor import TaskScope

# Seconds that a stopped turn has for its clean-up; killing a command's group takes two at most.
_PATIENCE = 3.0


class Run:
    """One turn: a context that owns its tasks, and an iterator over its events.

    Leaving the context cancels what still runs and waits for it. `interrupt` stops the turn the friendly
    way: what came is kept, and the events go on to the `TurnEnded`.
    """

    def __init__(self, one_at_a_time: asyncio.Lock, work: Callable[[Run], Coroutine[Any, Any, None]]) -> None:
        """Made by `agent.agent.Agent.run`. ``work`` is the turn itself: it says what happens with `emit`, a
        `TurnEnded` last, whatever happens. The lock is held within the context."""
        self._one_at_a_time = one_at_a_time
        self._work = work
        self._events: asyncio.Queue[AgentEvent] = asyncio.Queue()
        self._scope = TaskScope("turn")
        self._task: asyncio.Task[None] | None = None
        self._result: RunResult | None = None
        self._ended = False
        self._begun = False
        self.stop_asked = False

    @property
    def result(self) -> RunResult:
        """How the turn ended. Raises RuntimeError before it has."""
        if self._result is None:
            raise RuntimeError("the turn has not ended")
        return self._result

    def interrupt(self) -> None:
        """Stops the turn; may be called more than once, and after its end."""
        self.stop_asked = True
        # A task that is cancelled before its first step never runs, and its turn would have no end.
        if self._task is not None and self._begun:
            self._task.cancel()

    def emit(self, event: AgentEvent) -> None:
        """Hands an event to who iterates; called by the turn's work."""
        if isinstance(event, TurnEnded):
            self._result = event.result
        self._events.put_nowait(event)

    async def __aenter__(self) -> Self:
        if self._one_at_a_time.locked():
            raise RuntimeError("a turn is running already")
        await self._one_at_a_time.acquire()  # at once: it is free
        self._task = self._scope.start("loop", self._begin())
        return self

    async def _begin(self) -> None:
        self._begun = True
        await self._work(self)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._scope.close(patience=_PATIENCE)
        finally:
            self._one_at_a_time.release()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        if self._ended:
            raise StopAsyncIteration
        event = await self._events.get()
        self._ended = isinstance(event, TurnEnded)
        return event
