"""Conversations on a screen of their own: the one that goes on, and others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mewcode.core.message import Message, Text
from mewcode.repl.panel import Panel
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Theme

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.repl.turns import Turns

_MOST_BYTES = 200_000_000
"""Of a session's files, all of which is loaded for reading; of a larger one only its end is shown."""
_LARGE_END = 1_000_000
"""Tokens of that end."""


class Host(Protocol):
    """What it needs of the front end around it."""

    theme: Theme
    screen: Screen
    turns: Turns

    @property
    def panel(self) -> Panel | None: ...

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> object: ...

    def focus(self, *, here: bool) -> None: ...


class Reading:
    """One look at a time at the transcript; what runs goes on behind it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._is_open = False

    def open(self, session: Session) -> None:
        """Shows the session's transcript, what was not loaded of it included."""
        if not self._is_open:
            self._is_open = True
            self._host.start("transcript", lambda: self._show(session))

    def news(self) -> str:
        """A word on what waits behind a view that has the screen."""
        return "a question waits for you" if self._host.panel is not None else ""

    async def _show(self, session: Session) -> None:
        try:
            await self.read(self._said_so_far(session), earlier=earlier_of(session))
        finally:
            self._is_open = False

    def _said_so_far(self, session: Session) -> list[Message]:
        """The conversation, with what has come of the answer that is being given."""
        from mewcode.agent.conversation import new_message

        messages, view = list(session.agent.conversation.messages), self._host.turns.view
        if view is not None and (answer := view.answer.strip()):
            messages.append(new_message("assistant", (Text(answer),), "model"))
        return messages

    async def read(
        self, messages: Sequence[Message], earlier: Callable[[], Sequence[Message]] | None = None
    ) -> None:
        """Shows messages until the user leaves; ``earlier`` gives those before them, in a thread."""
        from mewcode.repl.pager import show_transcript

        host = self._host
        await show_transcript(
            host.screen,
            messages,
            host.theme,
            self.news,
            host.focus,
            earlier,
        )


async def history_of(folder: Path) -> Sequence[Message]:
    """All that was said in a session, for reading; of a very large one its end. Raises `SessionError`."""
    return await asyncio.to_thread(_history, folder)


def _history(folder: Path) -> Sequence[Message]:
    from mewcode.sessions.reader import load_history, load_session

    if _size(folder) > _MOST_BYTES:
        return load_session(folder, tokens=_LARGE_END).messages
    return load_history(folder).messages


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.jsonl"))


def earlier_of(session: Session) -> Callable[[], Sequence[Message]] | None:
    """What gives the messages before those at hand; None where these are all."""
    messages = session.agent.conversation.messages
    is_whole = session.resumed is None or session.resumed.is_whole
    if is_whole and not any(message.origin == "compaction" for message in messages):
        return None
    folder, at_hand = session.archive.folder, {message.id for message in messages}

    def earlier() -> Sequence[Message]:
        history = _history(folder)
        known = (place for place, message in enumerate(history) if message.id in at_hand)
        return history[: next(known, len(history))]

    return earlier
