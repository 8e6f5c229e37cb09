"""Sessions in which notes are taken in the background, with a model in memory that is asked for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

from mewcode.agent.noting import Noting, NotingWaits
from mewcode.agent.session import Session
from mewcode.core.stream import StreamEvent
from mewcode.memory.extract.question import extraction_words
from mewcode.memory.store import NoteStore
from mewcode.providers.base import ModelRequest

from .sample_session import sample_session, take_turn
from .scripted_provider import Answer, Hold, ScriptedProvider, answer

LIMIT = 20.0
NEVER = NotingWaits(past=3_600.0, listen=0.0)
AT_ONCE = NotingWaits(past=0.0, busy=0.01, listen=0.0)
CORRECTION = "No, use pytest here, never unittest."


def note(name: str, body: str = "", *, rests_on: tuple[str, ...] = ("m1",), **more: Any) -> dict[str, Any]:
    """One change as a model proposes it."""
    known = {
        "action": "create",
        "level": "project",
        "type": "project_knowledge",
        "file": "",
        "reason": "said",
    }
    said = {"name": name, "description": body or name, "body": body or f"{name}.", "aliases": []}
    return known | said | {"rests_on": list(rests_on), "confidence": 0.9} | more


def notes(*found: dict[str, Any]) -> str:
    """A whole answer of a model that was asked for notes."""
    return json.dumps({"notes": list(found)}, ensure_ascii=False)


class NotingProvider(ScriptedProvider):
    """Answers each turn, or with ``turns`` as these say, and what it is asked for notes from a script of its
    own: texts or whole answers, then that there is nothing to note."""

    def __init__(self, *script: str | Answer, turns: tuple[Answer, ...] = ()) -> None:
        super().__init__()
        self.script = list(script)
        self.turns = list(turns)
        self.extractions: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        items: Answer
        if request.system == (extraction_words(),):
            self.extractions.append(request)
            said = self.script.pop(0) if self.script else notes()
            items = answer(said) if isinstance(said, str) else said
        else:
            self.requests.append(request)
            items = self.turns.pop(0) if self.turns else answer(f"Answer {len(self.requests)}.")
        for item in items:
            if isinstance(item, Hold):
                await item.wait()
            else:
                yield item

    @property
    def asked(self) -> list[str]:
        """The questions for notes so far."""
        return [request.messages[0].text for request in self.extractions]


class Attended:
    """A session that somebody attends. ``told``: the lines that were shown."""

    def __init__(self, session: Session) -> None:
        assert session.noting is not None
        self.session = session
        self.noting: Noting = session.noting
        self.told: list[str] = []
        self._past_over = asyncio.Event()
        look = self.noting._look_at_past

        async def watched(session: Session) -> None:
            try:
                await look(session)
            finally:
                self._past_over.set()

        self.noting._look_at_past = watched  # type: ignore[method-assign]

    async def past_is_over(self) -> None:
        """Waits until what others left was looked through."""
        async with asyncio.timeout(LIMIT):
            await self._past_over.wait()
        await self.settled()

    async def say(self, *prompts: str) -> None:
        """A turn for each, and what goes on in the background after it."""
        for prompt in prompts:
            await take_turn(self.session, prompt)
            await self.settled()

    async def settled(self) -> None:
        """Waits for what goes on in the background."""
        async with asyncio.timeout(LIMIT):
            while (tasks := list(self.session.background._tasks)) or self.noting._soon is not None:
                if tasks:
                    await asyncio.wait(tasks)
                else:  # it begins with the next round of the loop
                    await asyncio.sleep(0)

    def store(self) -> NoteStore:
        assert self.session.notes is not None
        return self.session.notes.store()

    def names(self) -> list[str]:
        """Of the notes in force."""
        return sorted(entry.name for entry in self.store().live())


def attend(
    folder: Path,
    provider: NotingProvider,
    scenario: Callable[[Attended], Awaitable[None]],
    *,
    waits: NotingWaits = NEVER,
    clock: Callable[[], float] | None = None,
    **options: Any,
) -> Session:
    """Opens a session in ``folder``, lets the scenario happen in it, closes it."""

    async def whole() -> Session:
        session = sample_session(folder, provider, **options)
        attended = Attended(session)
        attended.noting._waits = waits
        if clock is not None:
            attended.noting._clock = clock
        try:
            attended.noting.attend(session, attended.told.append)
            await scenario(attended)
        finally:
            await session.aclose()
        return session

    return asyncio.run(whole())
