"""The front end for screen readers and for terminals that only print: lines, one after the other. Nothing is
drawn anew, no cursor moves, there are no colours."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from mewcode._version import __version__
from mewcode.core.errors import MewCodeError, SessionError
from mewcode.core.events import (
    AgentEvent,
    CompactionStarted,
    ToolEnded,
    ToolStarted,
)
from mewcode.infra.supervisor import TaskScope
from mewcode.infra.terminal_text import safe_text, visible_text
from mewcode.repl.commands import CommandRegistry, Desk, Outcome, builtin_commands
from mewcode.repl.plain_outcomes import show_plain
from mewcode.repl.plain_person import Lines, PlainPerson
from mewcode.repl.plain_turn import PlainTurn
from mewcode.repl.repl import CLOSED
from mewcode.repl.replay import replay_plain_of, resumed_words
from mewcode.repl.start import ListSessions, Look, OpenSession, Trust, opened_by, parting_words
from mewcode.repl.turns import SHELL_USE, is_command, is_note, is_own

if TYPE_CHECKING:
    from mewcode.agent.agent import Run
    from mewcode.agent.session import Session

T = TypeVar("T")

_PROMPT = "> "
# Seconds that something may take before it is said.
_PATIENCE = 0.5


class Plain:
    """One run: a prompt, a line, what comes of it, and again."""

    def __init__(
        self,
        open_session: OpenSession,
        look: Look,
        list_sessions: ListSessions | None,
        trust: Trust | None = None,
    ) -> None:
        self._open_session = open_session
        self._trust = trust
        self._look = look
        self._list_sessions = list_sessions
        self._lines = Lines(sys.stdin)
        self._person = PlainPerson(self._lines, _write, self._during)
        self._commands: CommandRegistry = builtin_commands()
        self._tasks = TaskScope("plain")
        self._run: Run | None = None
        self._main: asyncio.Task[int] | None = None
        self._command: asyncio.Task[Any] | None = None
        self._is_fitting = False
        self._left = False
        self._knows_offers = False
        self._untold: list[str] = []  # what the background has to say; not into a line that is being typed

    async def run(self) -> int:
        """Returns the exit code; raises what kept the session from opening."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._close)
        self._main = self._tasks.start("main", self._talk())
        try:
            return await self._main
        except asyncio.CancelledError:
            _write("\n")
            return CLOSED
        finally:
            await self._tasks.close()

    async def _talk(self) -> int:
        _write(f"MewCode {__version__}. /help lists the commands.\n")
        picked = None
        if self._list_sessions is not None:
            options = await asyncio.to_thread(self._list_sessions)
            picked = await self._person.choose("resume which session?", options) if options else None
            if picked is None:
                raise SessionError("no session was chosen", "Start a new one: mewcode")
        person = self._person
        session = await opened_by(person, lambda fork: self._open_session(person, picked, fork), self._trust)
        self._person.session = session
        try:
            session.on_saving = lambda failing: _say(failing or "the session is being saved again")
            for notice in session.notices:
                _say(notice)
            if session.resumed is not None:
                _say("\n".join(resumed_words(session.resumed)))
                _write(replay_plain_of(session, session.settings.shown))
            session.work.attend(session)
            if session.noting is not None:
                session.noting.attend(session, self._untold.append)
            if self._look.prompt:
                await self._take(session, self._look.prompt)
            while not self._left:
                self._tell()
                _write("\n" + _PROMPT)
                line = await self._lines.next()
                if line is None:
                    _write("\n")
                    break
                if line.strip():
                    await self._take(session, line.rstrip())
            _say("" if self._look.label else parting_words(session))
            return 0
        finally:
            await session.aclose()

    def _tell(self) -> None:
        untold, self._untold[:] = tuple(self._untold), ()
        for text in untold:
            _say(text)

    async def _take(self, session: Session, text: str) -> None:
        try:
            if is_command(text) or is_note(text):
                outcome = await self._outcome(session, text)
                self._left = await show_plain(
                    session, outcome, self._person, _write, self._turn, self._compact
                )
            elif is_own(text):
                await self._shell(session, text[1:].strip())
            else:
                await self._turn(session, text)
        except MewCodeError as error:
            _say(error.message, error.hint)

    async def _outcome(self, session: Session, text: str) -> Outcome:
        if is_note(text):
            from mewcode.repl.commands.note import note_outcome

            return note_outcome(session, text)
        desk = Desk(session, "no-color", emit=self._fitting_view(session))
        return await self._commands.run(desk, text)

    async def _shell(self, session: Session, command: str) -> None:
        """A command of the user's own."""
        if not command:
            _say(SHELL_USE)
            return
        from mewcode.repl.user_shell import NAME, run_user_command

        view, started = PlainTurn(_write), time.monotonic()
        view.handle(ToolStarted(NAME, NAME, visible_text(command)))
        running = self._tasks.start("command", run_user_command(session, command, lambda text: None))
        self._command = running
        try:
            outcome = await running
        finally:
            self._command = None
        view.handle(ToolEnded(NAME, NAME, outcome, time.monotonic() - started))

    async def _compact(self, session: Session, keep: str) -> None:
        """Has the conversation summed up; Ctrl-C stops it, and the prompt is there again."""
        view = PlainTurn(_write, lambda: session.model.context_window)
        await self._stoppable("compact", session.compact(keep, view.handle))

    async def _during(self, words: str, work: Callable[[], Awaitable[T]]) -> T | None:
        """What ``work`` gives. Where that takes long ``words`` say what is being done; Ctrl-C stops it, and
        None comes of it."""

        async def running() -> T:
            return await work()

        return await self._stoppable("command", running(), f"{words}; Ctrl-C stops it\n")

    async def _stoppable(self, name: str, work: Coroutine[Any, Any, T], said: str = "") -> T | None:
        running = self._tasks.start(name, work)
        self._command = running
        try:
            if said and not (await asyncio.wait((running,), timeout=_PATIENCE))[0]:
                _write(said)
            await asyncio.wait((running,))
            if not running.cancelled():
                return running.result()
            if said:
                _say("interrupted")
            return None
        finally:
            running.cancel()  # where the program is being closed
            self._command = None

    def _fitting_view(self, session: Session) -> Callable[[AgentEvent], None]:
        """Says how a conversation that a command continues is made to fit the window; Ctrl-C stops that."""
        view = PlainTurn(_write, lambda: session.model.context_window)

        def told(event: AgentEvent) -> None:
            self._is_fitting = isinstance(event, CompactionStarted)
            view.handle(event)

        return told

    async def _turn(self, session: Session, text: str) -> None:
        from mewcode.repl.mentions import attach

        view = PlainTurn(_write, lambda: session.model.context_window)
        attached = await attach(session, text, text)
        for note in attached.notes:
            _say(f"attached: {note}")
        for words, hint in attached.warnings:
            _say(words, hint)
        try:
            for reminder in attached.reminders:
                session.agent.remind(reminder)
            async with session.run(text, attached.images) as run:
                self._run = run
                async for event in run:
                    view.handle(event)
        finally:
            self._run = None
            # What could not be said, because the turn did not begin, is not said with the next message.
            for reminder in attached.reminders:
                session.agent.take_back(reminder)
        await self._tell_of_offers(session)

    async def _tell_of_offers(self, session: Session) -> None:
        """Once, when the first prompt was made: what of the instructions waits for the user."""
        if self._knows_offers or not session.agent.system:
            return
        self._knows_offers = True
        if (loaded := session.news.instructions.loaded) and loaded.outside():
            from mewcode.repl.include_offers import notice_of

            _say(*await asyncio.to_thread(notice_of, loaded))

    def _interrupt(self) -> None:
        """Ctrl-C: stops the turn; at rest it leaves."""
        if self._person.waiting.stop():
            return
        if self._run is not None:
            self._run.interrupt()
        elif self._is_fitting and self._person.session is not None:
            self._person.session.keeper.stop_fitting()
        elif self._command is not None:
            self._command.cancel()
        else:
            self._close()

    def _close(self) -> None:
        if self._run is not None:
            self._run.interrupt()
        if self._main is not None:
            self._main.cancel()


def run_plain(
    open_session: OpenSession,
    look: Look,
    list_sessions: ListSessions | None = None,
    trust: Trust | None = None,
) -> int:
    """As `mewcode.repl.start.run_repl`, in lines."""
    code = asyncio.run(Plain(open_session, look, list_sessions, trust).run())
    sys.stdout.flush()
    return code


def _say(text: str, hint: str = "") -> None:
    _write("".join(f"{safe_text(part)}\n" for part in (text, hint) if part))


def _write(text: str) -> None:
    """To standard output, at once; a terminal that is gone takes nothing any more."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stdout.fileno())
