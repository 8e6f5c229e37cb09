"""From a decided start to the running front end: trust, first paint, then the session."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.input.vt100 import Vt100Input

from mewcode.core.errors import SessionError
from mewcode.infra.terminal_text import safe_line, visible_text
from mewcode.prompt.environment import git_branch
from mewcode.repl.background_color import QUESTION, AnswerFilter, worth_asking
from mewcode.repl.busy_session import Asker, open_or_ask
from mewcode.repl.commands import builtin_commands
from mewcode.repl.notify import Attention
from mewcode.repl.outcomes import header
from mewcode.repl.panel import Option
from mewcode.repl.repl import CLOSED, Repl
from mewcode.repl.standard_terminal import standard_input, standard_output
from mewcode.repl.statusline import short_folder
from mewcode.repl.terminal_traits import terminal_traits
from mewcode.repl.theme import choose_theme

if TYPE_CHECKING:
    from mewcode.agent.ports import Person
    from mewcode.agent.session import Session


@dataclass(frozen=True, slots=True)
class Look:
    """What the front end shows of the start: folder, theme, a first prompt, a label that always stands,
    whether it sets the terminal's title and notifies the user who looks elsewhere, and whether anything is
    for later: what is typed is kept for the next session, and this one gets a title and a brief."""

    cwd: Path
    root: Path
    theme: str = "auto"
    prompt: str | None = None
    label: str = ""
    title: bool = True
    notify: bool = True
    vi_mode: bool = False
    keeps_history: bool = True


OpenSession = Callable[["Person", str | None, bool], "Session"]
"""Gets the session that was picked, where one was, and whether a copy of it is to be continued. Raises
`SessionBusy` at once."""
ListSessions = Callable[[], tuple[Option, ...]]
Trust = Callable[[Path], None]
"""Remembers that the user trusts a folder; what is opened after it is opened with its settings."""


def run_repl(
    open_session: OpenSession, environ: Mapping[str, str], look: Look, trust: Trust | None = None
) -> int:
    """Runs the terminal front end and returns the exit code.

    After the first paint ``open_session`` is called once, in a thread; what it raises ends the run and is
    raised here. ``trust``: see `opened_by`.
    """
    return asyncio.run(_run(open_session, environ, look, trust))


async def _run(open_session: OpenSession, environ: Mapping[str, str], look: Look, trust: Trust | None) -> int:
    async def opened(repl: Repl) -> Session:
        # Loading the parts takes longer than painting: keys are echoed meanwhile.
        return await opened_by(repl.guide, lambda fork: open_session(repl.questions, None, fork), trust)

    theme = choose_theme(look.theme, environ)
    sys.stdout.write(header(theme) + "\n")
    traits, output, input_ = terminal_traits(environ), standard_output(environ), standard_input()
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
    code = await repl.run()
    if code == 0 and not look.label and (words := parting_words(repl.session)):
        sys.stdout.write(repl.theme.paint("dim", words) + "\n")
    return code


def parting_words(session: Session | None) -> str:
    """How to go on with a session that was left; empty where nothing was said in it, or it is not saved."""
    if session is None:
        return ""
    said = any(message.origin == "user" for message in session.agent.conversation.messages)
    if not said or session.archive.failing is not None:
        return ""
    return f"mewcode -r {session.id} goes on with this session"


async def opened_by(
    asker: Asker, open_session: Callable[[bool], Session], trust: Trust | None = None
) -> Session:
    """What ``open_session`` returns or raises, called in a thread; the user is asked where another window
    has the session open, and where it came with a folder that has to be trusted: see `open_or_ask`. Raises
    `SessionError` where they leave it."""
    session = await open_or_ask(lambda fork: opened_aside(lambda: open_session(fork)), asker, trust=trust)
    if session is None:
        raise SessionError(
            "the session is open in another window", "Start a new one: mewcode, or a copy: --fork-session"
        )
    return session


async def opened_aside(open_session: Callable[[], Session]) -> Session:
    """What ``open_session`` returns or raises, called in a thread.

    The event loop's own threads would be waited for at the program's end, and so keep a user who leaves while
    another process holds the session.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Session] = loop.create_future()

    def settle(session: Session | None, error: Exception | None) -> None:
        if answer.done():  # the user has left
            if session is not None:
                session.archive.close()
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


def ask_trust(root: Path, brings: list[str]) -> bool:
    """Asks once whether this folder is trusted, naming what it brings. Anything but a yes is a no."""
    shown = visible_text(str(root)).replace("\n", "\\n")
    lines = [f"This folder brings settings that can run commands or loosen permissions:  {shown}"]
    lines += [f"  - {safe_line(phrase, 200)}" for phrase in brings]
    lines += ["Until you trust it, they are ignored. Trust it? [y/N] "]
    sys.stdout.write("\n".join(lines))
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
