"""What slash commands give, shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mewcode._version import __version__
from mewcode.repl.commands import Clear, Outcome, Pick, Quit, Say, Table
from mewcode.repl.questions import Questions
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Theme

if TYPE_CHECKING:
    from mewcode.agent.session import Session


class Speaker(Protocol):
    """Puts a line or two into the scrollback."""

    def say(self, style: str, text: str, hint: str = "") -> None: ...


class Outcomes:
    """Shows an `Outcome`; a picker leads to another."""

    def __init__(self, screen: Screen, questions: Questions, speaker: Speaker) -> None:
        self._screen = screen
        self._questions = questions
        self._speaker = speaker

    async def show(self, session: Session, outcome: Outcome) -> None:
        theme = self._questions.theme
        while isinstance(outcome, Pick):
            value = await self._questions.choose(outcome.title, outcome.options, outcome.selected)
            if value is None:
                return
            outcome = outcome.then(value)
        if isinstance(outcome, Say):
            self._speaker.say("plain", outcome.text, outcome.hint)
        elif isinstance(outcome, Table):
            from mewcode.repl.tables import table_text

            self._screen.commit("\n" + table_text(outcome, theme, self._screen.width))
        elif isinstance(outcome, Clear):
            self._screen.clear(header(theme))
            self._speaker.say("dim", f"a new conversation: {session.id}")
        elif isinstance(outcome, Quit):
            self._screen.exit(0)


def header(theme: Theme) -> str:
    """The first line on the screen."""
    return theme.paint("accent", f"MewCode {__version__}") + theme.paint("dim", " · /help lists the commands")
