"""The conversation as the model sees it, and what it has cost."""

from __future__ import annotations

from collections.abc import Iterable

from mewcode.agent.ports import Archive, Emit
from mewcode.core.events import MessageAdded
from mewcode.core.ids import new_id
from mewcode.core.message import ContentBlock, Message, Origin, Role, Text, Usage


class Conversation:
    """Messages in the order in which they are sent. Each goes into the archive before it is in the list."""

    def __init__(self, archive: Archive, messages: Iterable[Message] = ()) -> None:
        self._archive = archive
        self.messages: list[Message] = list(messages)
        self.usage: dict[str, Usage] = {}

    def add(self, message: Message, emit: Emit, *, sync: bool = False) -> None:
        """Archives the message, then adds it and says so with `MessageAdded`. ``sync`` as in
        `agent.ports.Archive.append`. Raises nothing: an archive does not."""
        self._archive.append(message, sync=sync)
        self.messages.append(message)
        emit(MessageAdded(message))

    def remind(self, text: str, emit: Emit) -> None:
        """Says something to the model that neither the user nor the model said; archived like the rest."""
        block = Text(f"<system-reminder>\n{text}\n</system-reminder>")
        self.add(new_message("user", (block,), "reminder"), emit)

    def count(self, model: str, usage: Usage) -> None:
        """Adds to what ``model`` has used in this conversation, answers that came to nothing included."""
        self.usage[model] = self.usage.get(model, Usage()) + usage


def new_message(
    role: Role, content: tuple[ContentBlock, ...], origin: Origin, model: str = "", usage: Usage | None = None
) -> Message:
    """A message with a new id, which names it for good. ``model``: who gave the answer, or was asked."""
    return Message(new_id(), role, content, origin, model, usage)
