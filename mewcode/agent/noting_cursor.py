"""What of a conversation was taken up for notes, what of that still waits, and how far it was looked through.
Values alone: nothing is asked, read or written here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mewcode.agent.noted_turns import prompts_in, to_look_through, without_last_turn
from mewcode.core.message import Message

if TYPE_CHECKING:
    from pathlib import Path

    from mewcode.sessions.reader import LoadedSession

EVERY = 5
"""Turns after which a model is asked though nobody said anything of notes."""
_MOST_EARLIER = 6
"""Messages before the new ones that a model is shown, so that it knows what they are about."""


@dataclass(frozen=True, slots=True)
class Batch:
    """``messages`` are to be looked through, of which ``upto`` is the last in the session's archive;
    ``earlier`` are some that stand before them."""

    session_id: str
    messages: tuple[Message, ...]
    upto: str
    earlier: tuple[Message, ...] = ()


@dataclass(slots=True)
class Cursor:
    """Of one conversation. ``seen``: the ids of messages that were taken up, of which ``waiting`` are still
    to be looked through and ``last`` is the last. ``unheard``: words of the user's among them that nobody
    looked at for a reason yet. ``noted``: the last message that was looked through, as recorded. ``hidden``:
    what leads to this one is not shown to a model for context either. ``turns``: those that ended by
    themselves since the last look. ``is_by_hand``: the turn that runs has its note already. ``is_behind``: of
    what was not read of the archive some may wait too."""

    seen: set[str] = field(default_factory=set)
    waiting: list[Message] = field(default_factory=list)
    last: str = ""
    noted: str = ""
    hidden: str = ""
    turns: int = 0
    unheard: list[str] = field(default_factory=list)
    is_by_hand: bool = False
    is_behind: bool = False

    @classmethod
    def of(cls, loaded: LoadedSession, is_fork: bool) -> Cursor:
        """Of a conversation that is continued. What a fork continues is not its own to look through."""
        cursor = cls(noted="" if is_fork else loaded.noted)
        cursor.take_up(loaded.messages)
        cursor.hidden = cursor.last if is_fork else loaded.noted  # notes may have been off until then
        if not is_fork:
            cursor.waiting = to_look_through(_behind(loaded))
            cursor.unheard = [message.text for message in cursor.waiting if message.is_said]
            cursor.turns = len(cursor.unheard)
            cursor.is_behind = not loaded.noted and loaded.start > 0
        return cursor

    def collect(self, messages: Sequence[Message]) -> bool:
        """Takes up what is new in the conversation; whether any of it is to be looked through."""
        new: list[Message] = []
        for message in reversed(messages):
            if message.id in self.seen:
                break
            new.append(message)
        new.reverse()
        self.take_up(new)
        wanted = [] if self.is_by_hand else to_look_through(new)
        self.is_by_hand = False
        self.waiting += wanted
        self.unheard += [message.text for message in wanted if message.is_said]
        return bool(wanted)

    def take_up(self, messages: Sequence[Message]) -> None:
        """Marks messages as seen."""
        self.seen.update(message.id for message in messages)
        # Ids that repairs and compactions in memory make up have a hyphen; the archive does not know them.
        self.last = next((one.id for one in reversed(messages) if one.id.isalnum()), self.last)

    def leave_out(self) -> None:
        """What was taken up until now is not looked through."""
        self._clear()
        self.hidden, self.is_behind = self.last, False

    def leave_out_last_turn(self) -> None:
        """What the user said last, and what came of it, is not looked through."""
        self.waiting[:] = without_last_turn(self.waiting)
        self.unheard.clear()

    def go_back(self, cut: Sequence[Message], loaded: LoadedSession | None) -> None:
        """These messages are gone from the conversation, which for that may have been read anew."""
        gone = {message.id for message in cut}
        dropped = {message.id for message in self.waiting if message.id in gone}
        self.waiting[:] = [message for message in self.waiting if message.id not in dropped]
        self.seen -= dropped  # the way back may be taken back
        self.turns = min(self.turns, prompts_in(self.waiting))
        if loaded is not None:
            new = len(_behind(loaded))
            self.seen.update(message.id for message in loaded.messages[: len(loaded.messages) - new])

    def catch_up(self, messages: Sequence[Message]) -> None:
        """All that the archive holds behind ``noted`` takes the place of what is at hand of it."""
        ids = [message.id for message in messages]
        if self.last in ids:
            self.waiting[:] = to_look_through(messages[: ids.index(self.last) + 1])

    def take(self, session_id: str, messages: Sequence[Message]) -> Batch:
        """What waits in the conversation of these ``messages``, and does so no longer."""
        waiting, ids = tuple(self.waiting), [message.id for message in messages]
        begin = ids.index(waiting[0].id) if waiting and waiting[0].id in ids else 0
        first = max(begin - _MOST_EARLIER, ids.index(self.hidden) + 1 if self.hidden in ids else 0)
        self._clear()
        return Batch(session_id, waiting, self.last, tuple(messages[first:begin]))

    def hear(self) -> list[str]:
        """What the user said since this was called last, as far as it waits."""
        unheard, self.unheard = self.unheard, []
        return unheard

    def _clear(self) -> None:
        self.waiting.clear()
        self.unheard.clear()
        self.turns = 0

    def give_back(self, batch: Batch) -> None:
        """What was taken waits again, before what came since."""
        self.waiting[:0] = batch.messages


@dataclass(frozen=True, slots=True)
class Job:
    """A batch and the folder of its session. ``cursor``: of the conversation at hand that it was taken from;
    None for one that was left. ``is_past``: of a session of before, whose archive says what waits."""

    batch: Batch
    folder: Path
    cursor: Cursor | None = None
    is_past: bool = False


def _behind(loaded: LoadedSession) -> Sequence[Message]:
    """The messages behind the last one that was looked through."""
    ids = [message.id for message in loaded.messages]
    return loaded.messages[ids.index(loaded.noted) + 1 :] if loaded.noted in ids else loaded.messages
