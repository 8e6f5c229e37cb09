"""What the loop needs from the outside. Each method says when it is called and whether it may raise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mewcode.core.access import Access, Mode, Verdict
from mewcode.core.events import AgentEvent, ApprovalAnswer, ApprovalRequest, Question
from mewcode.core.message import Message
from mewcode.core.stream import StopReason
from mewcode.providers.base import ModelRequest
from mewcode.sessions.record import Totals

if TYPE_CHECKING:
    from mewcode.infra.stoppable import Stop
    from mewcode.memory.budget import Budget
    from mewcode.memory.entry import Entry
    from mewcode.memory.recall.engine import Engine
    from mewcode.memory.store import NoteStore

Emit = Callable[[AgentEvent], None]
Answer = tuple[Message, StopReason]
Send = Callable[[ModelRequest], Awaitable[Answer]]


class Archive(Protocol):
    """Where messages are kept. Called from the event loop; a call takes microseconds and never raises: what
    cannot be written now is kept in memory and tried again. Only `keep_result` may take longer."""

    def append(self, message: Message, *, sync: bool = False) -> None:
        """Called once for each message, before it is sent anywhere. ``sync``: make it durable now."""
        ...

    def keep_result(self, call_id: str, text: str) -> Path | None:
        """Called in a thread of its own with the whole text of a tool result that is too long for the
        conversation, before its message is appended. Returns the file that holds it, None where it could not
        be kept. Never raises; takes as long as a disk does."""
        ...


class SessionArchive(Archive, Protocol):
    """An `Archive` with what a session needs beyond: none of it raises because of a disk."""

    on_state: Callable[[str | None], None] | None

    @property
    def failing(self) -> str | None: ...

    @property
    def id(self) -> str: ...

    @property
    def folder(self) -> Path: ...

    @property
    def head(self) -> str | None:
        """The message that the next one follows; None at the start."""
        ...

    def rewind(self, to: str | None) -> None:
        """Called between turns: the next message follows ``to``, a message or what `head` was once."""
        ...

    def compact(self, messages: Sequence[Message], *, turns: int, totals: Totals) -> tuple[Message, ...]:
        """Called between two requests: the conversation begins anew with ``messages``, which are returned
        under the ids that they have from now on. ``turns``: the user's messages so far; ``totals``: all that
        was used."""
        ...

    def append_record(self, record: dict[str, Any], *, sync: bool = False) -> None: ...

    def flush(self) -> bool:
        """Whether all is on disk now."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Past:
    """What the archive holds of a conversation. ``files``: where all of it stands, in order. ``is_whole``:
    the messages at hand are all that lead to its head. ``first_prompt``: how it began, on one line,
    shortened."""

    files: tuple[Path, ...]
    is_whole: bool = True
    first_prompt: str = ""


class Compactor(Protocol):
    """Makes a conversation that is too long for the model's window one that fits."""

    async def compact(self, messages: Sequence[Message], budget: int, past: Past) -> Sequence[Message]:
        """Called between turns with a conversation that services accept; returns one that they accept too, of
        at most ``budget`` tokens as far as those can be estimated. It takes the place of the messages in what
        the model sees and nowhere else: nothing is written. Raises `ProviderError`; then all stays as it was.
        """
        ...


class Keeper(Protocol):
    """Keeps the conversation within the model's window."""

    async def answer(self, make: Callable[[], ModelRequest], send: Send, emit: Emit) -> Answer:
        """Called for each step of the model, at a point where every call has its result: makes room first,
        where that is due, then has the request sent, once more where it was too long. ``make`` gives the
        request as the conversation stands. An answer that the window's end cut off is given as one that the
        output limit did: room is made before it goes on. Raises what ``send`` does, and `PromptTooLong` with
        figures where no room can be made; when cancelled, the conversation is whole."""
        ...


class Prompt(Protocol):
    """Makes system prompts."""

    sections: dict[str, str]
    """Of what was built last: the texts by name, in order."""

    def build(self, model: str, session_id: str) -> tuple[str, ...]:
        """Called where a conversation begins, or begins anew: reads what is on the disk then. Takes
        milliseconds."""
        ...


class Policy(Protocol):
    """Judges tool calls. Never raises, touches no network."""

    mode: Mode

    @property
    def trusted_folder(self) -> bool:
        """Whether git may be run in the workspace though it may run what the repository's config names."""
        ...

    def only_reads(self, accesses: Sequence[Access]) -> bool:
        """Called for a call that runs commands and was allowed: whether they are known to only read. Takes
        milliseconds."""
        ...

    def judge(self, tool: str, read_only: bool, accesses: Sequence[Access]) -> Verdict:
        """Called before a call runs, with all that it will touch, and again before the user is asked, whose
        answer to another call may have settled this one. Takes milliseconds."""
        ...

    def add_session_rule(self, rule: str, kind: Literal["allow", "ask", "deny"] = "allow") -> None:
        """Called with a rule that the policy suggested in a `Verdict`, or that the user typed. Raises
        `ConfigError` for one that is no rule."""
        ...

    def remove_session_rule(self, rule: str) -> bool:
        """Takes back what `add_session_rule` was given; False where it was given no such rule."""
        ...

    def explain(self) -> Sequence[tuple[str, str, str]]:
        """The rules in force: level, kind, rule."""
        ...


class Person(Protocol):
    """The user, where one is there. Called for one question at a time; cancelled with the turn."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Called where the policy's verdict is to ask; waits for the user without limit. Where it raises,
        the call does not run and the error is its result."""
        ...

    async def answer(self, question: Question) -> str | None:
        """The chosen label or the user's own words; None when they declined to answer."""
        ...


class NoteTaker(Protocol):
    """The notes, as a session works with them. ``is_off``: the user wants none in this session; then nothing
    is read or written."""

    is_off: bool

    def guess(self, text: str) -> tuple[str, bool]:
        """Called with the words that the user typed: the value of one of `kinds` that they most likely are,
        and whether that is beyond doubt. Takes microseconds."""
        ...

    def kinds(self) -> Sequence[tuple[str, str, str]]:
        """What a note may be: a value for `take`, a name and a word of explanation each."""
        ...

    def take(self, text: str, kind: str) -> tuple[str, str]:
        """Called in a thread of its own: keeps the words. Returns what the user is told, and what the model
        is told with the next message, empty for nothing. Raises `NoteError`."""
        ...

    def store(self) -> NoteStore:
        """Called in a thread of its own: the notes themselves, for what the user asks of them. Raises
        `NoteError` where notes are off in this session."""
        ...

    def budget(self) -> Budget:
        """What may be spent in a day on keeping notes. Reads nothing yet."""
        ...


class RecallIndex(Protocol):
    """What a session may be reminded of: its notes, and what was said in the workspace before. All but
    `has_notes` is called in threads of their own, and may be called in several at once."""

    def has_notes(self) -> bool:
        """Whether there may be notes at all; where there are none, nothing is loaded. Takes microseconds."""
        ...

    def store(self) -> NoteStore:
        """The notes."""
        ...

    def engine(self) -> Engine:
        """The one of this session, which it makes when it is first asked for."""
        ...

    def refresh_notes(self, entries: Iterable[Entry], stop: Stop) -> bool:
        """Makes these the notes that are found; whether all of them are known then."""
        ...

    def refresh(self, stop: Stop) -> bool:
        """Brings all that is found up to date, which may take minutes; whether all is known then. Raises
        `NoteError`."""
        ...

    def close(self) -> None:
        """Nothing is found from here on. May wait for a writer, some tenths of a second."""
        ...


class RuleKeeper(Protocol):
    """Keeps a rule for the project beyond this session."""

    def remember(self, rule: str) -> str | None:
        """Returns None, or why it was not kept. Never raises."""
        ...
