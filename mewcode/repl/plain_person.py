"""The user as one who reads and types lines."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from mewcode.core.events import ApprovalAnswer, ApprovalRequest, Question
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.approval import answer_of, approval_panel
from mewcode.repl.busy_session import Waiting
from mewcode.repl.commands import Desk, Outcome
from mewcode.repl.panel import Chosen, Option
from mewcode.repl.reading import history_of
from mewcode.repl.replay import replay_plain
from mewcode.repl.session_list import session_options
from mewcode.repl.theme import THEMES

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.repl.memory_browser_items import Tab

T = TypeVar("T")
Stoppable = Callable[[str, Callable[[], Awaitable[Outcome]]], Awaitable[Outcome | None]]

_ALL = 1_000_000  # exchanges
_WIDTH = 1000  # cells: lines are wrapped by the terminal, not by us


class Lines:
    """Lines that the user types, read in a thread; None at the end of the input."""

    def __init__(self, source: TextIO) -> None:
        self._source = source
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._reading = False

    async def next(self) -> str | None:
        """The next line without its end. What was typed ahead comes first."""
        self._read()
        return await self._queue.get()

    def _read(self) -> None:
        if self._reading:
            return
        self._reading = True
        loop = asyncio.get_running_loop()

        def work() -> None:
            # Bytes that are no text are the terminal's doing; the line is still one.
            line = self._source.readline()
            try:
                loop.call_soon_threadsafe(self._came, line)
            except RuntimeError:  # the loop has ended
                return

        threading.Thread(target=work, name="read-line", daemon=True).start()

    def _came(self, line: str) -> None:
        self._reading = False
        self._queue.put_nowait(line.removesuffix("\n") if line else None)


class PlainPerson:
    """The `agent.ports.Person` who is asked in lines and answers with a number or words; also the
    `repl.steps.Guide` of commands. ``waiting``: what they are kept waiting for."""

    def __init__(self, lines: Lines, write: Callable[[str], None], run: Stoppable | None = None) -> None:
        """``run`` does what the user can stop, and says so; see `repl.steps.Guide.during`."""
        self.waiting = Waiting(lambda: None)
        self.session: Session | None = None
        self._lines = lines
        self._run = run
        self._write = write

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        shown, panel = approval_panel(request, THEMES["no-color"], _WIDTH)
        return answer_of(await self._ask(shown + "\n" + panel.title, panel.options))

    async def answer(self, question: Question) -> str | None:
        own = Option("", "something else", "in your own words", asks_text=True)
        options = tuple(Option(label, label, description) for label, description in question.choices)
        chosen = await self._ask(safe_text(question.question), (*options, own))
        return None if chosen is None else chosen.text or chosen.value or None

    async def choose(self, title: str, options: Sequence[Option], selected: int = 0) -> str | None:
        chosen = await self._ask(title, options)
        return None if chosen is None else chosen.value

    async def read(self, folder: Path) -> None:
        self._write(replay_plain(await history_of(folder), _ALL))

    async def wait(self, words: str, open_: Callable[[], Awaitable[T]]) -> T | None:
        self._write(f"{words}; Ctrl-C stops waiting\n")
        return await self.waiting.wait(words, open_)

    async def pick_session(self) -> Path | None:
        if self.session is None:
            return None
        sessions_dir = self.session.around.places.project / "sessions"
        options = await asyncio.to_thread(session_options, sessions_dir, time.time())
        others = tuple(option for option in options if option.value != self.session.id)
        picked = await self.choose("resume which session?", others) if others else None
        return None if picked is None else sessions_dir / picked

    async def browse_notes(self, tab: Tab) -> Outcome | None:
        from mewcode.repl.commands.instructions import instructions
        from mewcode.repl.commands.memory import memory

        if self.session is None:
            return None
        desk = Desk(self.session, "no-color")
        if tab == "instructions":
            return await instructions(desk, "")
        return await memory(desk, "list" if tab == "notes" else tab)

    async def during(self, words: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        return await (work() if self._run is None else self._run(words, work))

    async def _ask(self, title: str, options: Sequence[Option]) -> Chosen | None:
        """None for an empty line or the end of the input."""
        self._write(f"\n{title.strip()}\n")
        for number, option in enumerate(options, 1):
            text = safe_line(": ".join(filter(None, (option.label, option.description))), _WIDTH)
            self._write(f"{number}. {text}\n")
        while True:
            self._write(f"Type a number from 1 to {len(options)}, or nothing to cancel: ")
            line = await self._lines.next()
            if not (line or "").strip():
                return None
            chosen = _option(str(line).strip(), options)
            if chosen is None:
                continue
            if not chosen.asks_text:
                return Chosen(chosen.value)
            self._write("In your words: ")
            return Chosen(chosen.value, (await self._lines.next() or "").strip())


def _option(text: str, options: Sequence[Option]) -> Option | None:
    if text.isdecimal() and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    return None
