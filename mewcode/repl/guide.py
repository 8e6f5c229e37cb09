"""Who a command turns to in the terminal: the user at panels, the pager and the picker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from mewcode.repl.busy_session import Waiting
from mewcode.repl.panel import Option
from mewcode.repl.questions import Questions
from mewcode.repl.reading import Reading, history_of
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Theme
from mewcode.repl.turns import Turns

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.repl.memory_browser_items import Tab

T = TypeVar("T")


class Host(Protocol):
    """What it needs of the front end around it."""

    theme: Theme
    screen: Screen
    session: Session | None
    questions: Questions
    reading: Reading
    turns: Turns

    def focus(self, *, here: bool) -> None: ...


class TerminalGuide:
    """`repl.steps.Guide` of the terminal. ``waiting``: what the user is kept waiting for."""

    def __init__(self, host: Host) -> None:
        self.waiting = Waiting(host.screen.refresh)
        self._host = host

    async def choose(self, title: str, options: tuple[Option, ...], selected: int = 0) -> str | None:
        return await self._host.questions.choose(title, options, selected)

    async def read(self, folder: Path) -> None:
        await self._host.reading.read(await history_of(folder))

    async def wait(self, words: str, open_: Callable[[], Awaitable[T]]) -> T | None:
        return await self.waiting.wait(words, open_)

    async def during(self, words: str, work: Callable[[], Awaitable[T]]) -> T:
        session = self._host.session
        return await (work() if session is None else self._host.turns.during(session, words, work))

    async def pick_session(self) -> Path | None:
        from mewcode.repl.picker import pick_session
        from mewcode.sessions.browse import SessionBrowser

        host = self._host
        if host.session is None:
            return None
        source = SessionBrowser(host.session.around.places)
        return await pick_session(host.screen, host.theme, source, current=host.session.id, focus=host.focus)

    async def browse_notes(self, tab: Tab) -> None:
        from mewcode.agent.work_tree import work_tree_of
        from mewcode.repl.commands.memory import told
        from mewcode.repl.memory_browser_screen import show_notes
        from mewcode.repl.memory_browser_source import NoteSource

        host, session = self._host, self._host.session
        if session is None or session.notes is None:
            return
        tree = work_tree_of(session.around)
        source = NoteSource(session.notes.store, session.news.instructions, tree=tree)
        try:
            await show_notes(
                host.screen,
                host.theme,
                source,
                session.around.environ,
                tab=tab,
                news=host.reading.news,
                focus=host.focus,
            )
        finally:
            if source.told:
                session.agent.remind(told(source.told))
