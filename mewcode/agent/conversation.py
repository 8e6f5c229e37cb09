"""The conversation as the model sees it, and what it has cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from mewcode.agent.ports import Archive, Emit
from mewcode.core.events import MessageAdded
from mewcode.core.ids import new_id
from mewcode.core.message import ContentBlock, Message, MessagesSoFar, Origin, Role, Text, Usage


class NoArchive:
    """`agent.ports.Archive` that keeps nothing: for what is said beside the conversation."""

    def append(self, message: Message, *, sync: bool = False) -> None:
        return

    def keep_result(self, call_id: str, text: str) -> Path | None:
        return None


class Conversation:
    """Messages in the order in which they are sent. Each goes into the archive before it is in the list.

    ``turn`` is the id of the last message of the user's, empty before the first: the turn that runs.
    ``turns``: how often the user spoke, as far as that is known, what is not among the messages included.
    ``times_back``: how often it went back to an earlier message, or began anew with a summary.
    ``said``: when those that were added here were said (Unix time), by id."""

    def __init__(self, archive: Archive, messages: Iterable[Message] = (), turns: int = 0) -> None:
        self._archive = archive
        self._messages = list(messages)  # only ever appended to: see `so_far`
        self.turn = _last_turn(self._messages)
        self._counts = turns > 0 or not self._messages
        self.turns = max(turns, sum(message.is_said for message in self._messages))
        self.times_back = 0
        self.said: dict[str, float] = {}
        self.usage: dict[str, Usage] = {}

    @property
    def messages(self) -> Sequence[Message]:
        """Those there are, as they come and go."""
        return self._messages

    def so_far(self) -> MessagesSoFar:
        """Those there are now, for good; takes no time."""
        return MessagesSoFar(self._messages)

    @property
    def sure_turns(self) -> int:
        """``turns``, 0 where there may be more than are known: what is recorded is believed."""
        return self.turns if self._counts else 0

    def add(self, message: Message, emit: Emit, *, sync: bool = False) -> None:
        """Archives the message, then adds it and says so with `MessageAdded`. ``sync`` as in
        `agent.ports.Archive.append`. Raises nothing: an archive does not."""
        self._archive.append(message, sync=sync)
        self._messages.append(message)
        if message.is_said:
            self.turn, self.said[message.id] = message.id, time.time()
            self.turns += 1
        emit(MessageAdded(message))

    def go_back(self, messages: Iterable[Message]) -> None:
        """From now on these are its messages; the archive was told already."""
        self._messages = list(messages)
        self.times_back += 1
        self.turn = _last_turn(self._messages)

    def begin_anew(self, messages: Iterable[Message]) -> None:
        """From now on these are its messages, which stand for those so far; the archive was told already. The
        turn that runs is still the same."""
        self._messages = list(messages)
        self.times_back += 1

    def shorten(self, messages: Iterable[Message]) -> None:
        """These are its messages, which say less now; the archive was told already."""
        self._messages = list(messages)

    def move_to(self, archive: Archive) -> None:
        """From the next message on they go into another archive, which holds those so far already."""
        self._archive = archive

    def keep_result(self, call_id: str, text: str) -> Path | None:
        """See `agent.ports.Archive.keep_result`."""
        return self._archive.keep_result(call_id, text)

    def remind(self, text: str, emit: Emit) -> None:
        """Says something to the model that neither the user nor the model said; archived like the rest."""
        block = Text(f"<system-reminder>\n{text}\n</system-reminder>")
        self.add(new_message("user", (block,), "reminder"), emit)

    def count(self, model: str, usage: Usage) -> None:
        """Adds to what ``model`` has used in this conversation, answers that came to nothing included."""
        self.usage[model] = self.usage.get(model, Usage()) + usage


def _last_turn(messages: Sequence[Message]) -> str:
    return next((message.id for message in reversed(messages) if message.is_said), "")


def new_message(
    role: Role, content: tuple[ContentBlock, ...], origin: Origin, model: str = "", usage: Usage | None = None
) -> Message:
    """A message with a new id, which names it for good. ``model``: who gave the answer, or was asked."""
    return Message(new_id(), role, content, origin, model, usage)
