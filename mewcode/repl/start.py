"""From a decided start to the running front end: trust, first paint, then the session."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_input
from prompt_toolkit.output.vt100 import Vt100_Output

from mewcode.core.errors import SessionError
from mewcode.infra.terminal_text import safe_line
from mewcode.prompt.environment import git_branch
from mewcode.repl.commands import builtin_commands
from mewcode.repl.panel import Option
from mewcode.repl.repl import Repl, header
from mewcode.repl.statusline import short_folder
from mewcode.repl.theme import choose_theme

if TYPE_CHECKING:
    from mewcode.agent.ports import Person
    from mewcode.agent.session import Session


@dataclass(frozen=True, slots=True)
class Look:
    """What the front end shows of the start: folder, theme, a first prompt, a label that always stands."""

    cwd: Path
    root: Path
    theme: str = "auto"
    prompt: str | None = None
    label: str = ""


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
    async def opened(repl: Repl) -> Session:
        picked = None
        if list_sessions is not None:
            options = await asyncio.to_thread(list_sessions)
            picked = await repl.choose("resume which session?", options) if options else None
            if picked is None:
                raise SessionError("no session was chosen", "Start a new one: mewcode")
        # Loading the parts takes longer than painting: keys are echoed meanwhile.
        return await asyncio.to_thread(open_session, repl, picked)

    theme = choose_theme(look.theme, environ)
    sys.stdout.write(header(theme) + "\n")
    repl = Repl(
        opened,
        builtin_commands(),
        theme,
        create_input(),
        _terminal(environ),
        root=look.root,
        folder=short_folder(look.cwd, Path(environ.get("HOME") or "/nonexistent")),
        branch=git_branch(look.root),
        first_prompt=look.prompt,
        label=look.label,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, repl.end, 130)
    return await repl.run()


def _terminal(environ: Mapping[str, str]) -> Vt100_Output:
    """Standard output as a terminal. No cursor reports are asked for: the answer would come in the middle of
    the user's typing, and nothing needs it."""
    descriptor = sys.stdout.fileno()

    def size() -> Size:
        columns, rows = os.get_terminal_size(descriptor)
        # A terminal that does not know its size says 0.
        return Size(rows or 24, columns or 80)

    return Vt100_Output(sys.stdout, size, term=environ.get("TERM"), enable_cpr=False)


def ask_trust(root: Path, brings: list[str]) -> bool:
    """Asks once whether this folder is trusted, naming what it brings. Anything but a yes is a no."""
    lines = [f"This folder brings settings that can run commands or loosen permissions:  {root}"]
    lines += [f"  - {safe_line(phrase, 200)}" for phrase in brings]
    lines += ["Until you trust it, they are ignored. Trust it? [y/N] "]
    sys.stdout.write("\n".join(lines))
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
