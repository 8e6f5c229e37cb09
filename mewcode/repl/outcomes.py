"""What slash commands give, shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from mewcode._version import __version__
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.cell_width import cell_width
from mewcode.repl.commands import (
    Aside,
    Clear,
    Compact,
    Compose,
    Copy,
    End,
    Outcome,
    Quit,
    Resumed,
    Rewound,
    Say,
    Send,
    Shown,
    Table,
    Tables,
    UseTheme,
    WindowUse,
)
from mewcode.repl.questions import Questions
from mewcode.repl.screen import Screen
from mewcode.repl.steps import Guide, take_steps
from mewcode.repl.theme import THEMES, Style, Theme, choose_theme

if TYPE_CHECKING:
    from mewcode.agent.session import Session


class Front(Protocol):
    """What outcomes need of the front end around them."""

    def say(self, style: Style, text: str, hint: str = "") -> None:
        """Puts a line or two into the scrollback."""
        ...

    def use_theme(self, theme: Theme) -> None: ...

    def ask_aside(self, session: Session, question: str) -> None:
        """Begins a question aside; returns at once."""
        ...

    async def compact(self, session: Session, keep: str) -> None:
        """Has the conversation summed up and shows how it goes. Raises `MewCodeError`."""
        ...

    async def compose(self, text: str) -> None:
        """Lets the user write the next input in an editor."""
        ...

    def give_back(self, text: str) -> None:
        """Puts words back into the input."""
        ...

    def submit(self, text: str) -> None:
        """Takes an input as if the user had sent it."""
        ...

    def show_end(self, session: Session, exchanges: int) -> None:
        """Shows the last exchanges of the conversation as they looked."""
        ...


class Outcomes:
    """Shows an `Outcome`; a picker leads to another."""

    def __init__(self, screen: Screen, questions: Questions, guide: Guide, front: Front) -> None:
        self._screen = screen
        self._questions = questions
        self._guide = guide
        self._front = front

    async def show(self, session: Session, outcome: Outcome) -> None:
        end = await take_steps(outcome, self._guide, lambda above: self._show(session, above))
        if end is not None:
            await self._show(session, end)

    async def _show(self, session: Session, outcome: End) -> None:
        if isinstance(outcome, Say):
            self._front.say("plain", outcome.text, outcome.hint)
        elif isinstance(outcome, Table | Tables):
            from mewcode.repl.tables import tables_text

            tables = outcome if isinstance(outcome, Tables) else Tables((outcome,))
            self._screen.commit("\n" + tables_text(tables, self._questions.theme, self._screen.width))
        elif isinstance(outcome, Shown):
            from mewcode.repl.tool_views import approval_view

            theme = self._questions.theme
            shown = approval_view(outcome.view, theme, self._screen.width)
            self._screen.commit(f"\n{theme.paint('heading', outcome.title)}\n{shown}")
        elif isinstance(outcome, WindowUse):
            from mewcode.repl.context_view import use_text

            theme, width, rows = self._questions.theme, self._screen.width, self._screen.rows
            self._screen.commit(
                "\n" + use_text(outcome.parts, theme, width, rows, outcome.stopped, outcome.ahead)
            )
        elif isinstance(outcome, Clear):
            self._screen.clear(header(self._questions.theme))
            self._front.say("dim", f"a new conversation: {session.id}")
        elif isinstance(outcome, Resumed):
            self._resumed(session, outcome)
        elif isinstance(outcome, Rewound):
            self._rewound(session, outcome)
        elif isinstance(outcome, Send):
            self._front.submit(outcome.text)
        elif isinstance(outcome, Quit):
            self._screen.exit(0)
        else:
            await self._act(session, outcome)

    def _resumed(self, session: Session, outcome: Resumed) -> None:
        self._screen.clear(header(self._questions.theme))
        self._front.say("plain", outcome.text, outcome.hint)
        for note in outcome.notes:
            self._front.say("warn", note)
        self._front.show_end(session, outcome.exchanges)

    def _rewound(self, session: Session, outcome: Rewound) -> None:
        """What was printed cannot be taken back: a rule parts it from the conversation as it is now."""
        width = self._screen.width
        title = safe_line(f"── {outcome.title}", width - 3) + " "
        rule = title + "─" * max(0, width - 1 - cell_width(title))
        self._screen.commit("\n" + self._questions.theme.paint("dim", rule))
        self._front.show_end(session, 1)
        self._front.say("plain", outcome.text, outcome.hint)
        if outcome.draft:
            self._front.give_back(outcome.draft)

    async def _act(self, session: Session, outcome: Copy | Compose | UseTheme | Aside | Compact) -> None:
        if isinstance(outcome, Copy):
            await self._copy(session, outcome)
        elif isinstance(outcome, Compose):
            await self._front.compose(outcome.text)
        elif isinstance(outcome, Compact):
            await self._front.compact(session, outcome.keep)
        elif isinstance(outcome, UseTheme):
            name = outcome.name
            theme = choose_theme("auto", session.around.environ) if name is None else THEMES[name]
            self._front.use_theme(theme)
            self._front.say("plain", f"colours: {name or f'auto, which is {theme.name}'}", outcome.hint)
        else:
            self._front.ask_aside(session, outcome.question)

    async def _copy(self, session: Session, outcome: Copy) -> None:
        from mewcode.repl.clipboard import copy_by_program, osc52

        sequence = osc52(outcome.text)
        self._screen.output.write_raw(sequence)
        self._screen.output.flush()
        program = await asyncio.to_thread(copy_by_program, outcome.text, session.around.environ)
        if not sequence and not program:
            self._front.say("error", f"{outcome.what} is too long for the terminal's clipboard")
            return
        size = f"{len(outcome.text):,} characters"
        way = f"by {program}" if program else "by the terminal, where it allows that"
        self._front.say("plain", f"copied {outcome.what}: {size}", way)


def header(theme: Theme) -> str:
    """The first line on the screen."""
    return theme.paint("accent", f"MewCode {__version__}") + theme.paint("dim", " · /help lists the commands")
