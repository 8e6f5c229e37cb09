"""What a conversation was told of notes by way of recall, and how much more it may be told."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from mewcode.agent.conversation import Conversation
    from mewcode.agent.recalled_note import Key, Recalled
    from mewcode.agent.session import Session
    from mewcode.core.message import Message

MOST_BYTES = 60_000
"""Of all that is told in one session."""
_WINDOW_SHARE = 4
"""In a window of so many tokens one byte may be told at once: six percent of it, more or less."""


class Patience(msgspec.Struct):
    """``until`` (`time.monotonic`): from then on nobody waits for what is being looked up."""

    until: float = math.inf


class ToldNotes:
    """Belongs to one session. Nothing is loaded as long as nothing was told."""

    def __init__(self) -> None:
        self._looked_at: tuple[Conversation, int, int] | None = None
        self._told: dict[Key, str] = {}
        self._spent: tuple[str, int] = ("", 0)

    def notes(self, session: Session) -> dict[Key, str]:
        """The notes that the conversation tells of, each with the digest that its file had then; of a
        conversation that grew, only what is new is looked at. One that went back, or was summed up, may have
        lost some, which may be told again."""
        conversation, before = session.agent.conversation, self._looked_at
        seen = 0
        if before is not None and before[:2] == (conversation, conversation.times_back):
            seen = before[2]
        else:
            self._told = {}
        if new := _of_recall(conversation.messages[seen:]):
            from mewcode.agent.recalled_note import told_in

            self._told |= told_in(new)
        self._looked_at = conversation, conversation.times_back, len(conversation.messages)
        return self._told

    def left(self, session: Session) -> int:
        """Bytes that may still be told in this session."""
        return MOST_BYTES - self._used(session)

    def choose(self, session: Session, found: Iterable[Recalled]) -> list[Recalled]:
        """Those of the notes that are new to the conversation and that there is room for, each once."""
        from mewcode.agent.recalled_note import recall_message, size_of, stands_in

        told, section = self.notes(session), session.prompt.sections.get("memory", "")
        room = min(self.left(session), session.model.context_window // _WINDOW_SHARE)
        chosen: dict[Key, Recalled] = {}
        for note in found:
            size = size_of(recall_message([note]))
            is_new = note.key not in chosen and told.get(note.key) != note.entry.digest
            # The prompt may have been made after the note was found.
            if is_new and size <= room and not stands_in(section, note.entry):
                chosen[note.key] = note
                room -= size
        return list(chosen.values())

    def spend(self, session: Session, message: Message) -> None:
        """This message is told."""
        from mewcode.agent.recalled_note import size_of

        self._spent = session.id, self._used(session) + size_of(message)

    def _used(self, session: Session) -> int:
        of, spent = self._spent
        if of != session.id:  # of one that was continued, what its conversation holds
            spent = 0
            if before := _of_recall(session.agent.conversation.messages):
                from mewcode.agent.recalled_note import size_of

                spent = sum(map(size_of, before))
            self._spent = session.id, spent
        return spent


def _of_recall(messages: Iterable[Message]) -> list[Message]:
    return [message for message in messages if message.origin == "recall"]
