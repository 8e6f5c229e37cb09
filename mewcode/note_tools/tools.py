"""The model's tools for notes: save_note, search_notes, read_note, forget_note.

They are there on every start; what they work with is loaded when the first of them is used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from msgspec import Meta, Struct

from mewcode.core.errors import NoteError, ToolError
from mewcode.core.outcome import TextView, ToolOutcome, View
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.note_source import open_notes, uses_notes
from mewcode.setup import Setup
from mewcode.tools.base import AnyTool, ArgsT, Tool, ToolContext, ToolSession
from mewcode.tools.in_thread import in_thread

if TYPE_CHECKING:
    from mewcode.memory.budget import Budget
    from mewcode.memory.store import NoteStore
    from mewcode.note_tools.desk import NoteDesk
    from mewcode.note_tools.found import Found

T = TypeVar("T")

_KINDS = (
    ("project_knowledge project", "about this project", "a decision, a deadline, how things are done here"),
    ("correction_feedback project", "a rule for you, here", "how the agent is to work in this project"),
    ("correction_feedback user", "a rule for you, everywhere", "how the agent is to work in all projects"),
    ("user_preference user", "about me", "who you are, what you prefer"),
    ("reference_material project", "where something is", "a page, a board, a document"),
)

OpenDesk = Callable[[], "NoteDesk"]
"""Gives the session's notes. May be called in any thread."""

_Words = Annotated[str, Meta(min_length=1, max_length=120)]
_Which = Annotated[str, Meta(description="The note's file or name.", min_length=1, max_length=500)]


class SaveNoteArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """One fact that holds beyond this session."""

    type: Annotated[
        Literal["user_preference", "correction_feedback", "project_knowledge", "reference_material"],
        Meta(description="What kind of fact it is; it decides for whom it holds."),
    ]
    name: Annotated[str, Meta(description="A few words that name the fact.", min_length=1, max_length=200)]
    body: Annotated[str, Meta(description="The fact, in Markdown.", min_length=1, max_length=8_000)]
    description: Annotated[str, Meta(description="One line for the list of notes.", max_length=200)] = ""
    aliases: Annotated[list[_Words], Meta(description="Words to find it by.", max_length=24)] = []
    level: Annotated[
        Literal["project", "user", ""],
        Meta(description="Where it holds: here, or for the user everywhere. Default: as the type suggests."),
    ] = ""
    replaces: Annotated[str, Meta(description="The note that it contradicts.", max_length=500)] = ""
    rests_on: Annotated[
        Literal["conversation", "tool", "web"],
        Meta(description="Where it comes from. Default: conversation."),
    ] = "conversation"


class SearchNotesArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Words to find notes by."""

    query: Annotated[str, Meta(description="A few words.", min_length=1, max_length=500)]
    limit: Annotated[int, Meta(description="Most notes to give. Default: 10.", ge=1, le=50)] = 10


class ReadNoteArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A note."""

    note: _Which


class ForgetNoteArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A note."""

    note: _Which


class _NoteTool(Tool[ArgsT]):
    def __init__(self, open_desk: OpenDesk) -> None:
        self._open = open_desk

    @property
    def description(self) -> str:
        return Path(__file__).with_name(f"{self.name}.md").read_text(encoding="utf-8").strip()

    async def _ask(self, work: Callable[[NoteDesk], T]) -> T:
        """What ``work`` gives, in a thread: notes may be locked by another process for seconds."""
        try:
            return await in_thread(lambda _: work(self._open()))
        except NoteError as error:
            raise ToolError(_words(error)) from error


class SaveNoteTool(_NoteTool[SaveNoteArgs]):
    name = "save_note"
    args_type = SaveNoteArgs

    def summary(self, args: SaveNoteArgs, session: ToolSession) -> str:
        return safe_line(args.name)

    def preview(self, args: SaveNoteArgs, session: ToolSession) -> View | None:
        return TextView(f"a note of type {args.type}: {safe_line(args.name)}", safe_text(args.body))

    async def run(self, args: SaveNoteArgs, context: ToolContext) -> ToolOutcome:
        saved = await self._ask(lambda desk: desk.save(args, context.call_id))
        return ToolOutcome.text(saved.told, TextView(safe_line(saved.shown)), is_error=saved.failed)


class SearchNotesTool(_NoteTool[SearchNotesArgs]):
    name = "search_notes"
    read_only = True
    args_type = SearchNotesArgs

    def summary(self, args: SearchNotesArgs, session: ToolSession) -> str:
        return safe_line(args.query)

    async def run(self, args: SearchNotesArgs, context: ToolContext) -> ToolOutcome:
        return _shown(await self._ask(lambda desk: desk.search(args.query, args.limit)))


class ReadNoteTool(_NoteTool[ReadNoteArgs]):
    name = "read_note"
    read_only = True
    args_type = ReadNoteArgs

    def summary(self, args: ReadNoteArgs, session: ToolSession) -> str:
        return safe_line(args.note)

    async def run(self, args: ReadNoteArgs, context: ToolContext) -> ToolOutcome:
        return _shown(await self._ask(lambda desk: desk.read(args.note)))


class ForgetNoteTool(_NoteTool[ForgetNoteArgs]):
    name = "forget_note"
    args_type = ForgetNoteArgs

    def summary(self, args: ForgetNoteArgs, session: ToolSession) -> str:
        return safe_line(args.note)

    def preview(self, args: ForgetNoteArgs, session: ToolSession) -> View | None:
        """The note that would go, so that the user knows which one is meant."""
        try:
            found = self._open().read(args.note, counts=False)
        except NoteError as error:
            raise ToolError(_words(error)) from error
        return TextView(safe_line(found.shown), safe_text(found.body))

    async def run(self, args: ForgetNoteArgs, context: ToolContext) -> ToolOutcome:
        done = await self._ask(lambda desk: desk.forget(args.note, context.call_id))
        return ToolOutcome.text(done.told, TextView(safe_line(done.shown)), is_error=done.failed)


def note_tools(open_desk: OpenDesk) -> tuple[AnyTool, ...]:
    """One of each."""
    return (
        ForgetNoteTool(open_desk),
        ReadNoteTool(open_desk),
        SaveNoteTool(open_desk),
        SearchNotesTool(open_desk),
    )


def _shown(found: Found) -> ToolOutcome:
    return ToolOutcome.text(found.told, TextView(safe_line(found.shown), safe_text(found.body)))


def _words(error: NoteError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else f"{error.message}."


class SessionNotes:
    """``session_id`` gives the session at this moment. Where notes are off, nothing is loaded, read or
    written."""

    def __init__(self, setup: Setup, session_id: Callable[[], str]) -> None:
        self._setup = setup
        self._session_id = session_id
        self.is_on = uses_notes(setup.loaded.config, no_memory=setup.options.no_memory)
        self.is_off = False
        self._desk: NoteDesk | None = None

    def tools(self) -> tuple[AnyTool, ...]:
        """The model's tools; none where notes are off."""
        return note_tools(self.desk) if self.is_on else ()

    def desk(self) -> NoteDesk:
        """What works with the notes. To be called in a thread; two at once may each make one. Raises
        NoteError where the user has turned notes off."""
        if self.is_off:
            raise NoteError("notes are off for this session", "The user turns them on with /memory on.")
        if self._desk is None:
            from mewcode.agent.work_tree import WorkTree
            from mewcode.note_tools.desk import NoteDesk

            setup = self._setup
            tree = WorkTree(setup.places.root, setup.environ.get("PATH", ""))
            self._desk = NoteDesk(open_notes(setup.places, setup.environ), self._session_id, tree=tree)
        return self._desk

    def guess(self, text: str) -> tuple[str, bool]:
        """See `agent.ports.NoteTaker`, as for what follows."""
        from mewcode.note_tools.guess import guess

        found = guess(text)
        return f"{found.type} {found.level}", found.is_sure

    def kinds(self) -> tuple[tuple[str, str, str], ...]:
        return _KINDS

    def take(self, text: str, kind: str) -> tuple[str, str]:
        from mewcode.memory.note import LEVELS, level_of, type_of
        from mewcode.note_tools.guess import guess

        type_name, _, level_name = kind.partition(" ")
        wanted = type_of(type_name)
        if wanted is None:
            raise NoteError(f"there are no notes of the kind {safe_line(kind)}")
        level = next((level for level in LEVELS if level == level_name), level_of(wanted))
        done, told = self.desk().take(guess(text).text, wanted, level)
        return done.shown, told

    def store(self) -> NoteStore:
        return self.desk().store

    def budget(self) -> Budget:
        from mewcode.memory.budget import BUDGET, Budget

        limit = self._setup.loaded.config.memory.daily_token_limit
        return Budget(self._setup.places.user / BUDGET, limit)
