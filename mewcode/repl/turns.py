"""The user's inputs, one after the other: what is sent, what waits, what runs and how it is stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from mewcode.infra.supervisor import TaskScope
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Theme
from mewcode.repl.tool_views import user_block
from mewcode.repl.turn_view import TurnView

if TYPE_CHECKING:
    # The parts of a session are loaded after the first paint.
    from mewcode.agent.agent import Run
    from mewcode.agent.session import Session

# Seconds between two drawings that only show that time passes.
_TICK = 0.1


class Host(Protocol):
    """What inputs need of the front end around them."""

    theme: Theme
    screen: Screen
    session: Session | None

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]: ...

    async def command(self, session: Session, line: str) -> None: ...

    def give_back(self, text: str) -> None:
        """Puts words back into the input."""
        ...


class Turns:
    """One input is worked on at a time; ``view`` shows the turn that runs, ``run`` is it."""

    def __init__(self, host: Host, tasks: TaskScope) -> None:
        self._host = host
        self._tasks = tasks
        self._queue: list[str] = []
        self._input: asyncio.Task[None] | None = None
        self.busy = False
        self.run: Run | None = None
        self.view: TurnView | None = None

    @property
    def queued(self) -> tuple[str, ...]:
        """What waits, in the order in which it will be said."""
        session = self._host.session
        return (*(session.agent.interjections.waiting if session else ()), *self._queue)

    def submit(self, text: str) -> None:
        """Sends, or queues while a turn runs; a command is never said to the model."""
        session = self._host.session
        if session is None or (self.busy and (self.run is None or text.startswith("/"))):
            self._queue.append(text)
        elif self.busy:
            session.agent.interjections.put(text)
        else:
            self._queue.append(text)
            self.next()
        self._host.screen.refresh()

    def next(self) -> None:
        """Begins with the next input, where one waits and nothing runs."""
        session = self._host.session
        idle = not self.busy and self._host.screen.app.is_running
        if idle and self._queue and session is not None:
            self.busy = True
            text = self._queue.pop(0)
            self._input = self._host.start("input", lambda: self._take(session, text))
            # Not in the task itself: one that is cancelled before its first step never runs.
            self._input.add_done_callback(lambda _: self._taken(session))

    async def _take(self, session: Session, text: str) -> None:
        self._host.screen.commit("\n" + user_block(text, self._host.theme, self._host.screen.width))
        if text.startswith("/") and "\n" not in text and not text.startswith("//"):
            await self._host.command(session, text)
        else:
            await self._turn(session, text)

    def _taken(self, session: Session) -> None:
        self.busy = False
        self._queue += session.agent.interjections.take_all()
        self._host.screen.refresh()
        self.next()

    async def _turn(self, session: Session, text: str) -> None:
        screen = self._host.screen
        view = TurnView(self._host.theme, screen.commit, lambda: screen.width, time.monotonic)
        self.view = view
        ticking = self._tasks.start("tick", self._tick())
        try:
            async with session.run(text) as run:
                self.run = run
                async for event in run:
                    view.handle(event)
                    screen.refresh()
            if run.result.stop in ("interrupted", "denied", "error"):
                self._give_back(session)
        finally:
            ticking.cancel()
            self.view = self.run = None

    def _give_back(self, session: Session) -> None:
        """After a stop, what was queued returns to the input."""
        texts = [*session.agent.interjections.take_all(), *self._queue]
        self._queue.clear()
        if texts:
            self._host.give_back("\n".join(texts))

    def take_back(self) -> str | None:
        """The newest of what waits, for editing."""
        if self._queue:
            return self._queue.pop()
        session = self._host.session
        return session.agent.interjections.take_last() if session else None

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self._host.screen.refresh()

    def stop(self) -> bool:
        """Stops what runs; True where it was a command, which does not say so itself."""
        if self.run is not None:
            if self.view is not None:
                self.view.interrupted = True
            self.run.interrupt()
            self._host.screen.refresh()
            return False
        if self._input is not None and not self._input.done():
            self._input.cancel()
            return True
        return False

    def abandon(self) -> None:
        """Leaves behind what does not end by being asked: the prompt comes back."""
        if self._input is not None:
            self._input.cancel()
