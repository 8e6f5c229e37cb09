"""From a decided start to the running front end: trust, first paint, then the session."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import UnsupportedOperation
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output.vt100 import Vt100_Output

from mewcode.core.errors import SessionError
from mewcode.infra.terminal_text import safe_line, visible_text
from mewcode.prompt.environment import git_branch
from mewcode.repl.background_color import QUESTION, AnswerFilter, worth_asking
from mewcode.repl.commands import builtin_commands
from mewcode.repl.notify import FOCUS_REPORTS_OFF, FOCUS_REPORTS_ON, Attention
from mewcode.repl.outcomes import header
from mewcode.repl.panel import Option
from mewcode.repl.paste_input import PasteInput
from mewcode.repl.questions import Questions
from mewcode.repl.repl import CLOSED, Repl
from mewcode.repl.statusline import short_folder
from mewcode.repl.terminal_traits import terminal_traits
from mewcode.repl.theme import choose_theme

if TYPE_CHECKING:
    from mewcode.agent.ports import Person
    from mewcode.agent.session import Session


@dataclass(frozen=True, slots=True)
class Look:
    """What the front end shows of the start: folder, theme, a first prompt, a label that always stands,
    whether it sets the terminal's title and notifies the user who looks elsewhere, and whether what is typed
    is kept for the next session."""

    cwd: Path
    root: Path
    theme: str = "auto"
    prompt: str | None = None
    label: str = ""
    title: bool = True
    notify: bool = True
    vi_mode: bool = False
    keeps_history: bool = True


OpenSession = Callable[["Person", str | None], "Session"]
ListSessions = Callable[[], tuple[Option, ...]]


def run_repl(
    open_session: OpenSession,
    environ: Mapping[str, str],
    look: Look,
    list_sessions: ListSessions | None = None,
) -> int:
    """Runs the terminal front end and returns the exit code.

    After the first paint ``open_session`` is called once, in a thread; what it raises ends the run and is
    raised here. With ``list_sessions`` the user first picks one of these, and its value is passed on.
    """
    return asyncio.run(_run(open_session, environ, look, list_sessions))


async def _run(
    open_session: OpenSession,
    environ: Mapping[str, str],
    look: Look,
    list_sessions: ListSessions | None,
) -> int:
    async def opened(person: Questions) -> Session:
        picked = None
        if list_sessions is not None:
            options = await asyncio.to_thread(list_sessions)
            picked = await person.choose("resume which session?", options) if options else None
            if picked is None:
                raise SessionError("no session was chosen", "Start a new one: mewcode")
        # Loading the parts takes longer than painting: keys are echoed meanwhile.
        return await opened_aside(lambda: open_session(person, picked))

    theme = choose_theme(look.theme, environ)
    sys.stdout.write(header(theme) + "\n")
    traits, output, input_ = terminal_traits(environ), _terminal(environ), _input()
    output.focus_reports = look.notify

    def write(text: str) -> None:
        output.write_raw(text)
        output.flush()

    repl = Repl(
        opened,
        builtin_commands(),
        theme,
        input_,
        output,
        root=look.root,
        cwd=look.cwd,
        vi_mode=look.vi_mode,
        keeps_history=look.keeps_history,
        folder=short_folder(look.cwd, Path(environ.get("HOME") or "/nonexistent")),
        branch=git_branch(look.root),
        first_prompt=look.prompt,
        label=look.label,
        traits=traits,
        attention=Attention(write, time.monotonic, traits, title=look.title, notify=look.notify),
    )
    if worth_asking(look.theme, environ, traits) and isinstance(input_, Vt100Input):

        def answered(light: bool) -> None:
            if light:
                repl.use_theme(choose_theme("light", environ))

        input_.vt100_parser = AnswerFilter(input_.vt100_parser, answered)  # type: ignore[assignment]  # the same calls
        # Asked behind the first drawing, so that nothing waits for it.
        output.ask_behind_drawing(QUESTION)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, repl.end, CLOSED)
    return await repl.run()


async def opened_aside(open_session: Callable[[], Session]) -> Session:
    """What ``open_session`` returns or raises, called in a thread.

    The event loop's own threads would be waited for at the program's end, and so keep a user who leaves while
    another process holds the session.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Session] = loop.create_future()

    def settle(session: Session | None, error: Exception | None) -> None:
        if answer.done():  # the user has left
            return
        if session is not None:
            answer.set_result(session)
        elif error is not None:
            answer.set_exception(error)

    def work() -> None:
        session, failure = None, None
        try:
            session = open_session()
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, session, failure)

    threading.Thread(target=work, name="open-session", daemon=True).start()
    return await answer


def _input() -> Input:
    try:
        sys.stdin.fileno()
    except UnsupportedOperation:  # it was replaced by something that is no file
        return create_input()
    return PasteInput(sys.stdin)


class _Terminal(Vt100_Output):
    """A terminal that was closed takes what is still written, so that the session can be saved in peace.

    With ``focus_reports`` the terminal says where the focus is, while the screen is ours: bracketed paste is
    switched on and off at the same moments.
    """

    focus_reports = False
    _question = ""

    def ask_behind_drawing(self, question: str) -> None:
        """Sends this once, with the first drawing."""
        self._question = question

    def enable_bracketed_paste(self) -> None:
        super().enable_bracketed_paste()
        if self.focus_reports:
            self.write_raw(FOCUS_REPORTS_ON)
        question, self._question = self._question, ""
        self.write_raw(question)

    def disable_bracketed_paste(self) -> None:
        super().disable_bracketed_paste()
        if self.focus_reports:
            self.write_raw(FOCUS_REPORTS_OFF)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            if error.errno not in (errno.EIO, errno.ENXIO, errno.EPIPE):
                raise
            # What standard output's buffer still holds would be tried again at the end, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stdout.fileno())


def _terminal(environ: Mapping[str, str]) -> _Terminal:
    """Standard output as a terminal. No cursor reports are asked for: the answer would come in the middle of
    the user's typing, and nothing needs it."""
    descriptor = sys.stdout.fileno()

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(descriptor)
        except OSError:  # it was closed
            columns = rows = 0
        # A terminal that does not know its size says 0.
        return Size(rows or 24, columns or 80)

    return _Terminal(sys.stdout, size, term=environ.get("TERM"), enable_cpr=False)


def ask_trust(root: Path, brings: list[str]) -> bool:
    """Asks once whether this folder is trusted, naming what it brings. Anything but a yes is a no."""
    shown = visible_text(str(root)).replace("\n", "\\n")
    lines = [f"This folder brings settings that can run commands or loosen permissions:  {shown}"]
    lines += [f"  - {safe_line(phrase, 200)}" for phrase in brings]
    lines += ["Until you trust it, they are ignored. Trust it? [y/N] "]
    sys.stdout.write("\n".join(lines))
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
