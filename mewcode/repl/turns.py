"""The user's inputs, one after the other: what is sent, what waits, what runs and how it is stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from mewcode.core.events import AgentEvent, Compacted, CompactionFailed, CompactionStarted, MessageAdded
from mewcode.infra.supervisor import TaskScope
from mewcode.repl.composer import Composer
from mewcode.repl.notify import Attention
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Style, Theme
from mewcode.repl.tool_views import user_block
from mewcode.repl.turn_view import TurnView

if TYPE_CHECKING:
    # The parts of a session are loaded after the first paint.
    from mewcode.agent.agent import Run
    from mewcode.agent.interjections import Brought
    from mewcode.agent.session import Session
    from mewcode.repl.mentions import Attached

T = TypeVar("T")

# Seconds between two drawings that only show that time passes.
_TICK = 0.1

SHELL_USE = "!COMMAND runs a command of yours in the shell"


class Host(Protocol):
    """What inputs need of the front end around them."""

    theme: Theme
    screen: Screen
    session: Session | None
    attention: Attention

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]: ...

    async def command(self, session: Session, line: str) -> None: ...

    composer: Composer

    async def run_shell(self, session: Session, command: str) -> None:
        """Runs a command of the user's own."""
        ...

    async def take_note(self, session: Session, text: str) -> None:
        """Keeps ``# text`` as a note."""
        ...

    def say(self, style: Style, text: str, hint: str = "") -> None: ...

    def is_anytime(self, line: str) -> bool:
        """Whether this line is a command that need not wait for the turn that runs."""
        ...

    def give_back(self, text: str) -> None:
        """Puts words back into the input."""
        ...


def is_command(text: str) -> bool:
    """Whether an input is for MewCode itself; two slashes say that it is not."""
    return text.startswith("/") and "\n" not in text and not text.startswith("//")


def is_note(text: str) -> bool:
    """``# text`` is kept as a note. A heading with more below it is a message."""
    return text.startswith("# ") and "\n" not in text


def is_own(text: str) -> bool:
    """Whether an input is neither for the model nor a command of MewCode's: it never waits for a turn."""
    return text.startswith("!") or is_note(text)


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
        self._compacting = False
        self._fitting: asyncio.Task[None] | None = None
        # What was attached to words that are about to be said during the turn.
        self._attached: dict[str, Attached] = {}
        # What the background had to say during a turn.
        self._untold: list[str] = []

    @property
    def queued(self) -> tuple[str, ...]:
        """What waits, in the order in which it will be said."""
        session = self._host.session
        return (*(session.agent.interjections.waiting if session else ()), *self._queue)

    def submit(self, text: str) -> None:
        """Sends, or queues while a turn runs; a command is never said to the model."""
        session = self._host.session
        if session is not None and self.run is not None and (is_own(text) or self._host.is_anytime(text)):
            self._host.start("command", lambda: self._at_once(session, text))
        elif session is None or (self.busy and (self.run is None or text.startswith("/"))):
            self._queue.append(text)
        elif self.busy:
            brings = self._host.composer.brings(text)
            session.agent.interjections.put(text, partial(self._bring, session, text) if brings else None)
        else:
            self._queue.append(text)
            self.next()
        self._host.screen.refresh()

    async def _bring(self, session: Session, text: str) -> Brought:
        """What comes with words that are said during a turn."""
        from mewcode.agent.interjections import Brought

        attached, images = await self._host.composer.attach(session, text)
        self._attached[text] = attached
        return Brought(tuple(images), tuple(attached.reminders))

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
        if is_own(text) or is_command(text):
            await self._at_once(session, text)
        else:
            self._show(text)
            await self._turn(session, text)

    def _show(self, text: str) -> None:
        self._host.screen.commit("\n" + user_block(text, self._host.theme, self._host.screen.width))

    async def _at_once(self, session: Session, text: str) -> None:
        command = text[1:].strip() if text.startswith("!") else ""
        if not command:  # a command of the user's own shows itself
            self._show(text)
        if is_note(text):
            await self._host.take_note(session, text)
        elif not is_own(text):
            await self._host.command(session, text)
        elif command:
            await self._host.run_shell(session, command)
        else:
            self._host.say("dim", SHELL_USE)

    def tell(self, text: str) -> None:
        """A quiet line of what went on in the background; never within an answer, but after it."""
        if self.busy:
            self._untold.append(text)
        else:
            self._host.say("dim", text)

    def _taken(self, session: Session) -> None:
        self.busy = False
        untold, self._untold = self._untold, []
        for text in untold:
            self.tell(text)
        self._queue += session.agent.interjections.take_all()
        self._host.screen.refresh()
        self.next()

    async def _turn(self, session: Session, text: str) -> None:
        screen, view = self._host.screen, self._begin_view(session)
        self._host.attention.turn_began(text)
        ticking = self._tasks.start("tick", self._tick())
        attached: Attached | None = None
        try:
            attached, images = await self._host.composer.attach(session, text)
            self._host.composer.show_attached(text, attached)
            for reminder in attached.reminders:
                session.agent.remind(reminder)
            async with session.run(text, images) as run:
                self.run = run
                is_first = True
                async for event in run:
                    view.handle(event)
                    if isinstance(event, MessageAdded) and event.message.origin == "user":
                        if not is_first:  # said during the turn
                            self._show_said(event.message.text)
                        is_first = False
                    screen.refresh()
            if run.result.stop in ("interrupted", "denied", "error"):
                self._give_back(session)
        finally:
            ticking.cancel()
            # What could not be said, because the turn did not begin, is not said with the next message.
            for reminder in attached.reminders if attached is not None else ():
                session.agent.take_back(reminder)
            self._host.attention.turn_ended()
            self.view = self.run = None
            self._attached.clear()

    async def compact(self, session: Session, keep: str) -> None:
        """Has the conversation summed up, with ``keep`` in mind, and shows how it goes. Called by a command,
        so that what is typed meanwhile waits. Raises `MewCodeError`."""
        view, self._compacting = self._begin_view(session), True
        self._host.attention.turn_began("/compact")
        ticking = self._tasks.start("tick", self._tick())
        try:
            await session.compact(keep, view.handle)
        except asyncio.CancelledError:
            self._give_back(session)
            raise
        finally:
            ticking.cancel()
            self._host.attention.turn_ended()
            self.view, self._compacting = None, False

    def told(self, session: Session, event: AgentEvent) -> None:
        """Shows how a conversation that a command continues is made to fit the window."""
        if isinstance(event, CompactionStarted):
            self._begin_view(session)
            self._fitting = self._tasks.start("tick", self._tick())
        if self.view is not None:
            self.view.handle(event)
        if isinstance(event, Compacted | CompactionFailed) and self._fitting is not None:
            self._fitting.cancel()
            self.view = self._fitting = None

    async def during(self, session: Session, words: str, work: Callable[[], Awaitable[T]]) -> T:
        """What ``work`` gives; ``words`` say meanwhile what is being done. Called by a command, which Esc
        stops."""
        view = self._begin_view(session)
        view.doing = words
        ticking = self._tasks.start("tick", self._tick())
        try:
            return await work()
        finally:
            ticking.cancel()
            if self.view is view:
                self.view = None

    def _begin_view(self, session: Session) -> TurnView:
        screen = self._host.screen
        view = self.view = TurnView(
            self._host.theme,
            screen.commit,
            lambda: screen.width,
            time.monotonic,
            lambda: session.model.context_window,
        )
        return view

    def _show_said(self, text: str) -> None:
        self._show(text)
        if attached := self._attached.pop(text, None):
            self._host.composer.show_attached(text, attached)

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
        """Stops what runs; True where that does not say so itself, as a command does not."""
        if self.run is not None:
            if self.view is not None:
                self.view.interrupted = True
            self.run.interrupt()
            self._host.screen.refresh()
            return False
        if self._fitting is not None and self._host.session is not None:
            self._host.session.keeper.stop_fitting()
            if self.view is not None:
                self.view.interrupted = True
            return False
        if self._input is not None and not self._input.done():
            if self._compacting and self.view is not None:
                self.view.interrupted = True
            self._input.cancel()
            return not self._compacting
        return False

    def abandon(self) -> None:
        """Leaves behind what does not end by being asked: the prompt comes back."""
        if self._input is not None:
            self._input.cancel()
