"""Back to an earlier message of the user's: the conversation, the files, or both; and back again.

A front end lists `points`, shows a `preview`, and calls `rewind` or `undo_rewind`. All of it is for the time
between turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mewcode.agent.continuing import Resumption, restored_todos
from mewcode.agent.file_changes import FileChange, Restored, Restoring
from mewcode.agent.plan_mode import tell_again
from mewcode.agent.ports import Past
from mewcode.core.errors import SessionError
from mewcode.core.ids import new_id
from mewcode.core.message import Message
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.checkpoint_log import Entry
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.repair import repair_messages
from mewcode.tools.file_access import judged_path

if TYPE_CHECKING:
    from mewcode.agent.session import Session

__all__ = [
    "FileChange", "RewindPoint", "RewindReport", "points", "preview", "preview_undo", "rewind", "undo_rewind",
]  # fmt: skip

_READ_FOR_POINTS = 200 << 20
"""Bytes: of a longer archive only the messages at hand are offered. To read more takes longer than anyone
waits for a list."""


class RewindPoint(msgspec.Struct, frozen=True):
    """A message of the user's that the session can go back to: to where it was before it was said.

    ``id``: the message's. ``turn``: its number among those that are known, from 1. ``text``: the first line
    that says something, not made safe for a terminal. ``ts``: Unix time, 0 where unknown. ``files``: how many
    files were changed since, by tools and commands. ``restorable``: all of them can be put back.
    """

    id: str
    turn: int
    text: str
    ts: float = 0.0
    files: int = 0
    restorable: bool = True


class RewindReport(msgspec.Struct, frozen=True):
    """What a rewind did. ``text``: the message's, for the input line (only where the conversation was
    rewound, and not by an undo). ``conversation``: it was rewound. ``messages``: how many it has less now
    (negative after an undo: more). ``restored``: files put back. ``conflicts``, ``failed``: files left as
    they are, with the reason in each. ``notes``: what else the user should know, in sentences."""

    text: str = ""
    conversation: bool = False
    messages: int = 0
    restored: tuple[FileChange, ...] = ()
    conflicts: tuple[FileChange, ...] = ()
    failed: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()


class _Place(NamedTuple):
    """A point: the user's messages of this branch, as far as they are known, and its place among them."""

    turns: list[Message]
    number: int

    @property
    def message(self) -> Message:
        return self.turns[self.number]


class _Way(NamedTuple):
    """Where the conversation goes: the archive's next message follows ``to``. ``messages``: those that stay,
    None where they have to be read. ``fit``: they may be too many for the model's window."""

    to: str | None
    messages: Sequence[Message] | None
    fit: bool


async def points(session: Session) -> list[RewindPoint]:
    """The user's messages of this branch, newest last, those from before a compaction included."""
    turns, said = await _turns(session), session.agent.conversation.said
    kept = session.safekeeping.checkpoints.kept

    def look() -> list[RewindPoint]:
        session.safekeeping.checkpoints.settle()
        counts = kept.counts_since(kept.positions([message.id for message in turns]))
        return [
            RewindPoint(message.id, number, _first_line(message.text), said.get(message.id, 0.0), *count)
            for number, (message, count) in enumerate(zip(turns, counts, strict=True), start=1)
        ]

    return await asyncio.to_thread(look)


async def preview(session: Session, point_id: str) -> list[FileChange]:
    """What `rewind` with files would do now. Raises `SessionError` where there is no such point."""
    place = await _find(session, point_id)
    restoring = Restoring(session.safekeeping.checkpoints, session.tools.session)

    def look() -> list[FileChange]:
        session.safekeeping.checkpoints.settle()
        return restoring.preview(_position(session, place))

    return await asyncio.to_thread(look)


async def rewind(
    session: Session, point_id: str, *, conversation: bool, files: bool, force: bool = False
) -> RewindReport:
    """Goes back to before the message ``point_id``; the reminders that were said along with it stand behind
    it, and go with it. Raises `SessionError` while a turn runs, and where there is no such point."""
    _check_between_turns(session)
    place = await _find(session, point_id)
    way = await _way_before(session, place.message.id) if conversation else None
    kept = place.turns[place.number - 1].id if place.number and conversation else ""
    at = await asyncio.to_thread(_position, session, place)
    report = await _go(session, way, at, kept=kept, files=files, force=force)
    return msgspec.structs.replace(report, text=place.message.text) if conversation else report


async def undo_rewind(session: Session, *, force: bool = False) -> RewindReport:
    """Takes the last rewind back; an undo is one itself, so a second one does it again. What was said and
    done since is left behind, as by any rewind. Raises `SessionError` while a turn runs, and where nothing
    was rewound."""
    _check_between_turns(session)
    last = await asyncio.to_thread(_last_rewind, session)
    way = None
    if last.conversation:
        left = session.safekeeping.left
        known = left[1] if left is not None and left[0] == last.turn else None
        way = _Way(last.head, known, fit=known is None)
    kept = last.last if last.conversation else ""
    return await _go(session, way, last.n, kept=kept, files=last.files, force=force)


async def preview_undo(session: Session) -> list[FileChange]:
    """What `undo_rewind` would do to files now. Raises `SessionError` where nothing was rewound."""
    restoring = Restoring(session.safekeeping.checkpoints, session.tools.session)

    def look() -> list[FileChange]:
        session.safekeeping.checkpoints.settle()
        last = _last_rewind(session)
        return restoring.preview(last.n) if last.files else []

    return await asyncio.to_thread(look)


def _last_rewind(session: Session) -> Entry:
    last = session.safekeeping.checkpoints.kept.last_rewind()
    if last is None:
        raise SessionError("there is no rewind to take back")
    return last


async def _go(
    session: Session, way: _Way | None, at: int, *, kept: str, files: bool, force: bool
) -> RewindReport:
    """The way back: the index is told first, so that whatever happens can be undone; then the files; the
    conversation last, in one step."""
    _check_between_turns(session)
    checkpoints, conversation = session.safekeeping.checkpoints, session.agent.conversation
    entry = Entry(
        0,
        "rewind",
        turn=new_id(),
        kept=kept,
        last=conversation.turn,
        at=at,
        head=session.archive.head,
        conversation=way is not None,
        files=files,
    )

    def restore() -> tuple[Restored, list[str]]:
        checkpoints.forget_look()
        notes = checkpoints.kept.notes_since(at) if files else []
        checkpoints.kept.log_rewind(entry)
        if not files:
            return Restored(), notes
        return Restoring(checkpoints, session.tools.session).run(at, entry.turn, force=force), notes

    async with session.agent.at_rest():
        done, notes = await asyncio.to_thread(restore)
        before = tuple(conversation.messages)
        if way is not None:
            await _move(session, way)
            session.safekeeping.left = entry.turn, before
    if checkpoints.kept.log.failing:
        notes.append(f"It can be undone only while this session is open: {checkpoints.kept.log.failing}.")
    return RewindReport(
        conversation=way is not None,
        messages=len(before) - len(conversation.messages),
        restored=done.restored,
        conflicts=done.conflicts,
        failed=done.failed,
        notes=tuple(notes),
    )


async def _move(session: Session, way: _Way) -> None:
    """Takes the conversation to where ``way`` leads."""
    agent, archive, head = session.agent, session.archive, session.archive.head
    archive.rewind(way.to)
    messages, loaded = way.messages, None
    if messages is None:
        archive.flush()
        try:
            loaded = await asyncio.to_thread(load_session, archive.folder)
        except SessionError:
            archive.rewind(head)
            raise
        messages = repair_messages(loaded.messages)[0]
    kept = {message.id for message in messages}
    cut = [message for message in agent.conversation.messages if message.id not in kept]
    _forget_reads(session, cut)
    agent.conversation.go_back(messages)
    if session.noting is not None:
        session.noting.went_back(cut, loaded)
    session.tools.session.todos[:] = restored_todos(messages)
    tell_again(agent, session.mode)
    if way.fit:
        past = Past((archive.folder / CONVERSATION,))
        session.resumption = Resumption(past, session.settings.reserve, None)


def _forget_reads(session: Session, cut: Sequence[Message]) -> None:
    """What the model read or wrote in the part that is gone it does not know any more."""
    files = session.tools.session
    for message in cut:
        for call in message.tool_calls:
            path = call.args.get("path")
            if isinstance(path, str):
                files.reads.forget(Path(judged_path(files, path)))


# --- the messages -----------------------------------------------------------------------------------------


async def _turns(session: Session) -> list[Message]:
    """The user's messages of this branch, oldest first."""
    messages: Sequence[Message] = session.agent.conversation.messages
    if not _reaches_back(session) and await asyncio.to_thread(_is_short, session.archive.folder):
        messages = await _history(session)
    return [message for message in messages if message.is_said]


def _reaches_back(session: Session) -> bool:
    """Whether the messages at hand begin where the conversation did."""
    first = next(iter(session.agent.conversation.messages), None)
    is_whole = session.resumption is None or session.resumption.is_whole
    return is_whole and (first is None or first.origin != "compaction")


def _is_short(folder: Path) -> bool:
    try:
        return (folder / CONVERSATION).stat().st_size <= _READ_FOR_POINTS
    except OSError:  # it cannot be read either
        return False


async def _history(session: Session) -> Sequence[Message]:
    session.archive.flush()
    return (await asyncio.to_thread(load_history, session.archive.folder)).messages


async def _find(session: Session, point_id: str) -> _Place:
    turns = await _turns(session)
    for number, message in enumerate(turns):
        if message.id == point_id:
            return _Place(turns, number)
    raise SessionError("that message is not in this conversation any more")


def _position(session: Session, place: _Place) -> int:
    turns = [message.id for message in place.turns]
    return session.safekeeping.checkpoints.kept.positions(turns)[place.number]


async def _way_before(session: Session, message_id: str) -> _Way:
    """The way to before a message of the user's: over the messages at hand, so that what is sent next begins
    as what was sent before; where those do not reach back so far, to what the archive says was sent then."""
    messages = session.agent.conversation.messages
    number = next((n for n, message in enumerate(messages) if message.id == message_id), 0)
    # Ids that repairs and compactions in memory make up have a hyphen; the archive does not know them.
    if number and messages[number - 1].id.isalnum():
        return _Way(messages[number - 1].id, tuple(messages[:number]), fit=False)
    session.archive.flush()
    follows = (await asyncio.to_thread(load_history, session.archive.folder)).follows
    if message_id not in follows:
        raise SessionError("that message is not in the archive", "Its session could not be saved.")
    return _Way(follows[message_id], None, fit=True)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _check_between_turns(session: Session) -> None:
    if session.agent.is_running:
        raise SessionError("a turn is running", "Stop it with Esc, then rewind.")
