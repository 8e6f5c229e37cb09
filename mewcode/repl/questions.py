"""Questions to the user in the live part: approvals, the model's own questions, pickers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from mewcode.core.events import ApprovalAnswer, ApprovalRequest, Question
from mewcode.infra.terminal_text import safe_text
from mewcode.repl.approval import answer_of, approval_panel
from mewcode.repl.panel import MID_WORD, Chosen, Option, Panel
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Theme


class Questions:
    """The `agent.ports.Person` of the terminal. One question at a time; ``panel`` is the one that is open."""

    def __init__(self, buffer: Buffer, screen: Screen, theme: Theme) -> None:
        self.panel: Panel | None = None
        self.theme = theme
        self.on_ask: Callable[[], None] | None = None
        self._buffer = buffer
        self._screen = screen
        self._draft = buffer.document
        self._one_at_a_time = asyncio.Lock()

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        shown, panel = approval_panel(request, self.theme, self._screen.width)
        self._screen.commit(shown)
        return answer_of(await self.ask(panel))

    async def answer(self, question: Question) -> str | None:
        own = Option("", "something else", "in your own words", asks_text=True)
        options = tuple(Option(label, label, description) for label, description in question.choices)
        chosen = await self.ask(Panel(safe_text(question.question), (*options, own)))
        return None if chosen is None else chosen.text or chosen.value or None

    async def choose(self, title: str, options: tuple[Option, ...], selected: int = 0) -> str | None:
        """The value of the option that the user takes, None for Esc."""
        chosen = await self.ask(Panel(title, options, selected))
        return None if chosen is None else chosen.value

    async def ask(self, panel: Panel) -> Chosen | None:
        """Opens a panel and waits for what is chosen; None for Esc. ``on_ask`` is told. Where another is open
        (a command's, while a turn runs), it waits for that one to be done with."""
        if self.on_ask is not None:
            self.on_ask()
        waits = self._one_at_a_time.locked()
        async with self._one_at_a_time:
            if waits:
                # A key may have been meant for the panel before.
                panel.accepts_from = asyncio.get_running_loop().time() + MID_WORD
            return await self._open(panel)

    async def _open(self, panel: Panel) -> Chosen | None:
        self.panel = panel
        # What was being typed is no answer: it waits aside.
        self._draft = self._buffer.document
        if self._draft.text:
            panel.accepts_from = asyncio.get_running_loop().time() + MID_WORD
        self._buffer.reset()
        self._screen.refresh()
        try:
            return await panel.outcome
        finally:
            self.panel = None
            self._buffer.set_document(self._draft)
            self._screen.refresh()

    def insert(self, text: str) -> None:
        """Puts ``text`` at the cursor of the user's input, also where a panel has put that aside."""
        if self.panel is None:
            self._buffer.insert_text(text)
        else:
            before, after = self._draft.text_before_cursor + text, self._draft.text_after_cursor
            self._draft = Document(before + after, len(before))

    def insert_lines(self, text: str) -> None:
        """As `insert`, apart from what stands before the cursor."""
        document = self._buffer.document if self.panel is None else self._draft
        self.insert(text if not document.current_line_before_cursor else f"\n{text}")

    def replace(self, text: str) -> None:
        """Makes ``text`` the user's input, also where a panel has put that aside."""
        if self.panel is None:
            self._buffer.text = text
            self._buffer.cursor_position = len(text)
        else:
            self._draft = Document(text)
