"""What a command is, what it may give, and how a line finds its command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.core.errors import MewCodeError
from mewcode.repl.panel import Option

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.context.parts import Parts
    from mewcode.core.events import AgentEvent
    from mewcode.core.outcome import View
    from mewcode.repl.memory_browser_items import Tab
    from mewcode.repl.theme import ThemeName


@dataclass(frozen=True, slots=True)
class Desk:
    """What a command works with: the session, and what the front end knows at this moment. ``columns`` and
    ``rows`` are the terminal's; ``queued`` are the inputs that wait; ``in_turn``: a turn is running. ``emit``
    is told how a conversation is made to fit the window."""

    session: Session
    theme: str = "auto"
    columns: int = 80
    rows: int = 24
    queued: tuple[str, ...] = ()
    in_turn: bool = False
    emit: Callable[[AgentEvent], None] | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """A line or two."""

    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; every row has as many cells as ``header`` (which may be empty)."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tables:
    """Several, one below the other; their first columns are made equally wide. ``note`` stands below."""

    tables: tuple[Table, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that a tool's card could show as well, under a title."""

    title: str
    view: View


@dataclass(frozen=True, slots=True)
class WindowUse:
    """What takes how much of the model's window. ``stopped``: why nothing is summed up by itself any more,
    empty where it is; ``ahead``: what summaries ahead of time have used, in words."""

    parts: Parts
    stopped: str = ""
    ahead: str = ""


@dataclass(frozen=True, slots=True)
class Pick:
    """A choice to be made; ``then`` gets the value chosen and gives what follows."""

    title: str
    options: tuple[Option, ...]
    then: Callable[[str], Outcome]
    selected: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """Text for the clipboard; ``what`` names it ("the last answer")."""

    text: str
    what: str


@dataclass(frozen=True, slots=True)
class Compose:
    """The user writes the next input in an editor of their own, beginning with ``text``."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class UseTheme:
    """Colours from now on. ``auto`` is what the terminal suggests."""

    name: ThemeName | None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Aside:
    """A question to the model beside the conversation."""

    question: str


@dataclass(frozen=True, slots=True)
class Compact:
    """The conversation so far is to be summed up; ``keep`` says what to keep in mind."""

    keep: str = ""


@dataclass(frozen=True, slots=True)
class Later:
    """What has to be worked out, after a choice or because it takes long. ``work`` may raise `MewCodeError`.
    ``doing``: what is said meanwhile, where it can be stopped."""

    work: Callable[[], Awaitable[Outcome]]
    doing: str = ""


@dataclass(frozen=True, slots=True)
class PickSession:
    """One of the sessions is to be picked; ``then`` gets its folder."""

    then: Callable[[Path], Outcome]


@dataclass(frozen=True, slots=True)
class BrowseNotes:
    """The notes are to be looked through and changed, beginning with that tab."""

    tab: Tab = "notes"


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session is to be opened that another window may hold: ``open`` then raises `SessionBusy`, and the
    user is asked. It gets whether a copy of the session is to be continued instead. ``trust``: see
    `repl.busy_session.open_or_ask`."""

    open: Callable[[bool], Awaitable[Outcome]]
    trust: Callable[[Path], None] | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The session holds another conversation, and the screen begins anew with its end. ``text``, ``hint``
    say which it is, ``notes`` what was repaired; ``exchanges``: how many of the last are shown."""

    text: str
    hint: str = ""
    notes: tuple[str, ...] = ()
    exchanges: int = 3


@dataclass(frozen=True, slots=True)
class Rewound:
    """The conversation ends elsewhere now. ``title`` says where, ``text`` and ``hint`` what was done;
    ``draft`` stands in the input, ready to be sent again."""

    title: str
    text: str
    hint: str = ""
    draft: str = ""


@dataclass(frozen=True, slots=True)
class Send:
    """A prompt of MewCode's, sent as the user's next input; ``text`` mentions no file."""

    text: str


@dataclass(frozen=True, slots=True)
class Clear:
    """The conversation was ended and the screen should be."""


@dataclass(frozen=True, slots=True)
class Quit:
    """The user wants out."""


@dataclass(frozen=True, slots=True)
class Above:
    """``shown`` stays on the screen while ``then`` follows: what a choice is about."""

    shown: End
    then: Outcome


Step = Pick | Later | Above | PickSession | OpenSession | BrowseNotes
"""What is followed by another outcome, or by nothing."""
End = (
    Say
    | Table
    | Tables
    | Shown
    | WindowUse
    | Copy
    | Compose
    | UseTheme
    | Aside
    | Compact
    | Resumed
    | Rewound
    | Send
    | Clear
    | Quit
)
Outcome = Step | End

Run = Callable[[Desk, str], Awaitable[Outcome]]

Values = tuple[tuple[str, str], ...]
"""Arguments that can be completed: each with a word of explanation."""
LookUp = Callable[["Session", str], Values]
"""Finds such arguments, of those that begin as the user has typed, in a thread."""


@dataclass(frozen=True, slots=True)
class Command:
    """``usage`` shows the argument, ``values`` the ones that can be completed (see `choices`), ``look_up``
    finds others that take longer.

    ``anytime``: it can be given while a turn runs, and is then run at once beside it.
    """

    name: str
    summary: str
    run: Run
    usage: str = ""
    values: Values | Callable[[Session], Values] = ()
    group: str = "session"
    anytime: bool = False
    look_up: LookUp | None = None

    def choices(self, session: Session | None) -> Values:
        """The arguments that can be completed; what depends on the session is left out before it is open."""
        if callable(self.values):
            return () if session is None else self.values(session)
        return self.values


def command_name(line: str) -> str:
    """The name in ``/name argument``."""
    return line.removeprefix("/").strip().partition(" ")[0]


@dataclass(slots=True)
class CommandRegistry:
    commands: dict[str, Command] = field(default_factory=dict)

    def add(self, command: Command) -> None:
        """Raises ValueError where the name is taken."""
        if command.name in self.commands:
            raise ValueError(f"two commands are called /{command.name}")
        self.commands[command.name] = command

    def choices(self, name: str, session: Session | None) -> Values:
        """What can be completed behind a command; nothing for one that is unknown."""
        command = self.commands.get(name)
        return () if command is None else command.choices(session)

    def is_anytime(self, line: str) -> bool:
        """Whether this line need not wait for the turn that runs. A command that is unknown need not: all
        it gives is a word of help."""
        command = self.commands.get(command_name(line))
        return command is None or command.anytime

    async def run(self, desk: Desk, line: str) -> Outcome:
        """Runs ``/name argument``. An unknown name is answered with the nearest; a failure in its words."""
        name, _, argument = line.removeprefix("/").strip().partition(" ")
        command = self.commands.get(name)
        if command is None:
            import difflib  # only on a mistake

            near = difflib.get_close_matches(name, self.commands, 1, 0.5)
            hint = f"Did you mean /{near[0]}?" if near else "/help lists them."
            return Say(f"there is no command /{name}", hint)
        try:
            return await command.run(desk, argument.strip())
        except MewCodeError as error:
            return Say(error.message, error.hint)
