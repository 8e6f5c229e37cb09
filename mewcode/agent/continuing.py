"""How a session is continued: what the composition root opens, and what is taken from a conversation back
into the session. The session itself takes it over, see `agent.session.Session.resume`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, Unpack

import msgspec

from mewcode.agent.conversation import Conversation
from mewcode.agent.fit import SUMMARY_ID
from mewcode.agent.pause import Pause
from mewcode.agent.ports import Compactor, Emit, Past, SessionArchive
from mewcode.agent.surroundings import Surroundings
from mewcode.context.thresholds import Thresholds
from mewcode.core.access import Mode
from mewcode.core.errors import SessionBusy
from mewcode.core.events import Notice
from mewcode.core.message import Image, Message, ToolResult
from mewcode.core.outcome import TodoItem
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.registry import Service
from mewcode.sessions.reader import LoadedSession
from mewcode.sessions.record import Totals
from mewcode.sessions.settings import SessionSettings
from mewcode.tools.todo import TodoArgs, TodoTool

if TYPE_CHECKING:
    from mewcode.agent.agent import Agent

T = TypeVar("T")

_POLL = 0.2
"""Seconds between two looks at a session that another process holds."""


class About(TypedDict):
    """What a session's first record says of how it is held."""

    mode: Mode
    model: str
    provider: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that is open to be continued. ``loaded``: its messages as a service accepts them. ``notes``:
    what was repaired and left out for that, a line each. ``model``, ``mode`` and ``service`` are what it goes
    on with; a service of None: with the one that is there. ``paused``: seconds since its last record."""

    archive: SessionArchive
    loaded: LoadedSession
    notes: tuple[str, ...]
    model: str
    mode: Mode
    service: Service | None
    past: Past
    paused: float = 0.0


@dataclass(frozen=True, slots=True)
class Resumed:
    """What the user is told of a session that was continued. ``title``: its title, else its first words; as
    written, so not yet safe to show. ``notes``: a line each, such as "repaired: 1 unfinished tool call".
    ``paused``: seconds since its last record. ``left_out``: what the model does not see of it, in words, else
    empty. ``messages``: how many were read; ``is_whole``: these are all. ``fork_of``: the session that this
    is a new copy of, empty where it is itself that goes on."""

    id: str
    title: str
    notes: tuple[str, ...]
    paused: float
    left_out: str = ""
    messages: int = 0
    is_whole: bool = True
    fork_of: str = ""

    @classmethod
    def of(cls, opened: Opened) -> Resumed:
        """Without notes."""
        loaded = opened.loaded
        said = (message.text for message in loaded.messages if message.origin == "user")
        title = loaded.title or opened.past.first_prompt or next(filter(str.strip, said), "")
        name = opened.archive.id
        fork_of = loaded.id if loaded.id != name else ""
        return cls(name, title, (), opened.paused, "", len(loaded.messages), loaded.is_whole, fork_of)


class Archives(Protocol):
    """The sessions of this workspace. Called between turns; `open` and `fork` may take a second and are
    called in a thread."""

    def new(self, **about: Unpack[About]) -> SessionArchive:
        """A new archive, of which nothing is on disk before its first message. Never raises."""
        ...

    def open(self, folder: Path, *, fork: bool = False) -> Opened:
        """Takes the session's lock and reads it; with ``fork`` a new session that continues it is opened in
        its place, whoever holds it. Raises `SessionBusy` where another process holds it, and
        `SessionError` where it cannot be read, belongs elsewhere, or is not the user's own. Then nothing is
        open."""
        ...

    def fork(
        self, folder: Path, at: str | None, used: Totals, turns: int, **about: Unpack[About]
    ) -> SessionArchive:
        """A new session that continues the one in ``folder``, of which all is on disk and which has ``used``
        so much in so many ``turns`` (0 where that is not known), from the message ``at`` on. Raises
        `SessionError`."""
        ...


async def open_when_free(archives: Archives, folder: Path, wait: float, *, fork: bool = False) -> Opened:
    """As `Archives.open`, in a thread. A session that another process holds is waited for up to ``wait``
    seconds."""
    deadline = time.monotonic() + wait
    while True:
        try:
            return await open_aside(
                lambda: archives.open(folder, fork=fork), lambda opened: opened.archive.close()
            )
        except SessionBusy:
            if time.monotonic() >= deadline:
                raise
        await asyncio.sleep(_POLL)


async def open_aside(work: Callable[[], T], undo: Callable[[T], object]) -> T:
    """What ``work`` gives, called in a thread; where nobody waits for that any more, it is undone. The event
    loop's own threads would be waited for at the program's end, and a disk may take its time."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(given: T | None, error: Exception | None) -> None:
        if answer.done():
            if given is not None:
                undo(given)
        elif given is not None:
            answer.set_result(given)
        elif error is not None:
            answer.set_exception(error)

    def call() -> None:
        given, failure = None, None
        try:
            given = work()
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            failure = error
        try:
            loop.call_soon_threadsafe(settle, given, failure)
        except RuntimeError:  # the loop has ended
            if given is not None:
                undo(given)

    threading.Thread(target=call, name="open-session", daemon=True).start()
    return await answer


class Resumption:
    """What is still to be done for a continued conversation before its first request."""

    def __init__(self, past: Past, reserve: int, pause: Pause | None) -> None:
        """``reserve``: tokens of the window that are to stay free. ``pause``: what to tell of it, if at
        all."""
        self.left_out = ""
        self._past = past
        self._reserve = reserve
        self._pause = pause
        self._fits = False
        self._one_at_a_time = asyncio.Lock()

    @classmethod
    def begin(cls, opened: Opened, settings: SessionSettings, around: Surroundings) -> Resumption:
        """Starts to look for what changed since, where the session was paused for long."""
        pause = None
        if opened.loaded.messages and opened.paused > settings.pause_hours * 3600:
            pause = Pause.begin(opened.paused, opened.loaded.reads, around)
        return cls(opened.past, settings.reserve, pause)

    async def fit(
        self,
        conversation: Conversation,
        used: Callable[[], int],
        fixed: int,
        limits: Thresholds,
        compactor: Compactor,
    ) -> None:
        """Makes the conversation fit the window, once; ``left_out`` says what that took. ``used`` gives the
        tokens of the request as it stands, ``fixed`` of them before the messages. Raises what the compactor
        does."""
        async with self._one_at_a_time:
            if self._fits:
                return
            messages = tuple(conversation.messages)
            window = limits.window
            most = min(limits.compact_at, max(window - self._reserve, window * 7 // 10))
            if not self._past.is_whole or used() > most:
                budget = max(most - fixed, most // 8)
                compacted = await compactor.compact(messages, budget, self._past)
                if tuple(conversation.messages) == messages:  # it was not gone back in meanwhile
                    self.left_out = _left_out(messages, compacted, self._past)
                    conversation.shorten(compacted)
            self._fits = True

    @property
    def is_whole(self) -> bool:
        """Whether what was read of the conversation is all of it."""
        return self._past.is_whole

    def take_left_out(self) -> str:
        """``left_out``, for who tells it to the user: nobody else will."""
        words, self.left_out = self.left_out, ""
        return words

    async def tell(self, agent: Agent, emit: Emit) -> None:
        """Tells the user what was left out, and the model, with the next message, of a long pause."""
        if words := self.take_left_out():
            emit(Notice("info", words))
        if self._pause is not None and (reminder := await self._pause.reminder()):
            agent.remind(reminder)


def _left_out(before: Sequence[Message], after: Sequence[Message], past: Past) -> str:
    kept = {message.id for message in after}
    count = sum(message.id not in kept for message in before)
    if any(message.id.startswith(SUMMARY_ID) for message in after):
        which = f"the {count} oldest messages are" if past.is_whole else "the older part of this session is"
        return f"{which} summed up for the model: its window is too small for all. The archive keeps all."
    if not count and past.is_whole:
        return "the results of some tools are left out of what the model sees: they are too long for it"
    which = f"the {count} oldest messages are" if past.is_whole else "the older part of this session is"
    return f"{which} left out of what the model sees: its window is too small for all. The archive keeps all."


def restored_todos(messages: Sequence[Message]) -> list[TodoItem]:
    """The list as the last `todo` call that succeeded left it."""
    succeeded = {
        result.call_id for message in messages for result in message.tool_results if not result.is_error
    }
    for message in reversed(messages):
        for call in reversed(message.tool_calls):
            if call.name == TodoTool.name and call.id in succeeded:
                try:
                    args = msgspec.convert(call.args, TodoArgs)
                except msgspec.ValidationError:
                    continue
                return [TodoItem(item.text, item.status) for item in args.items]
    return []


def notes_of(opened: Opened, model: ModelInfo) -> tuple[str, ...]:
    """What the user is told of a session that goes on with that model."""
    if model.vision or not holds_image(opened.loaded.messages):
        return opened.notes
    return (*opened.notes, "this session holds images, which the model does not take; it is told so")


def holds_image(messages: Sequence[Message]) -> bool:
    """Whether a user's message or a tool's result brings a picture."""
    blocks = (block for message in messages for block in message.content)
    return any(
        isinstance(block, Image)
        or (isinstance(block, ToolResult) and any(isinstance(part, Image) for part in block.content))
        for block in blocks
    )
