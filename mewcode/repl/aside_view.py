"""Questions aside: each is answered beside whatever runs, dimmed, and stopped by Esc."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.duration import duration
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Style, Theme

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.core.events import AgentEvent

# Lines of an answer in progress that are shown above the input.
_LIVE_LINES = 4
_MARK = "btw "
_TICK = 0.25  # seconds between two drawings that only show that time passes


class Host(Protocol):
    """What questions aside need of the front end around them."""

    theme: Theme
    screen: Screen

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]: ...

    def say(self, style: Style, text: str, hint: str = "") -> None: ...


class _Aside:
    def __init__(self, question: str) -> None:
        self.question = question
        self.started = time.monotonic()
        self.text = ""
        self.task: asyncio.Task[None] | None = None

    def take(self, event: AgentEvent) -> None:
        from mewcode.core.events import StreamWithdrawn
        from mewcode.core.stream import BlockDelta

        if isinstance(event, BlockDelta) and event.kind == "text":
            self.text += event.text
        elif isinstance(event, StreamWithdrawn):
            self.text = ""


class Asides:
    """Those that are being answered."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._running: list[_Aside] = []

    def ask(self, session: Session, question: str) -> None:
        """Begins to ask; returns at once."""
        aside = _Aside(question)
        self._running.append(aside)
        aside.task = self._host.start("aside", lambda: self._answer(session, aside))
        aside.task.add_done_callback(lambda _: self._ended(aside))
        ticking = self._host.start("aside tick", self._tick)
        aside.task.add_done_callback(lambda _: ticking.cancel())

    async def _answer(self, session: Session, aside: _Aside) -> None:
        text = await session.ask_aside(aside.question, aside.take)
        self._show(aside, text or "(no words; ask it within the conversation)")

    async def _tick(self) -> None:
        while True:
            self._host.screen.refresh()
            await asyncio.sleep(_TICK)

    def _ended(self, aside: _Aside) -> None:
        self._running.remove(aside)
        if aside.task is not None and aside.task.cancelled():
            self._show(aside, (aside.text.rstrip() + "\n(stopped)").lstrip())
        self._host.screen.refresh()

    def _show(self, aside: _Aside, text: str) -> None:
        """The answer in the scrollback, as plain dim text with a mark before it."""
        paint, width = self._host.theme.paint, self._host.screen.width
        lines = [paint("dim", _MARK) + paint("dim", line) for line in _wrapped(text, width)]
        asked = paint("dim", safe_line(f"{_MARK}❯ {aside.question}", width - 1))
        self._host.screen.commit("\n" + "\n".join([asked, *lines]))

    @property
    def running(self) -> bool:
        return bool(self._running)

    def stop(self) -> bool:
        """Stops the newest; False where there is none."""
        for aside in reversed(self._running):
            if aside.task is not None and not aside.task.done():
                aside.task.cancel()
                return True
        return False

    def lines(self) -> list[str]:
        """What is shown of them while they are answered."""
        paint, width = self._host.theme.paint, self._host.screen.width
        shown: list[str] = []
        for aside in self._running:
            took = duration(time.monotonic() - aside.started)
            head = f"{_MARK}❯ {safe_line(aside.question, max(10, width - 40))} · {took} · esc stops it"
            # The end of the text is enough: no more is shown.
            tail = _wrapped(aside.text[-_LIVE_LINES * width :], width)[-_LIVE_LINES:] if aside.text else []
            shown += [paint("dim", safe_line(head, width - 1))]
            shown += [paint("dim", _MARK + line) for line in tail]
        return shown


def _wrapped(text: str, width: int) -> list[str]:
    clean = safe_text(text).strip("\n")
    return [clean[start:end].rstrip() for start, end in break_lines(clean, max(10, width - len(_MARK) - 1))]
