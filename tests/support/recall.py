"""Sessions that are reminded of notes, with a model in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from mewcode.agent.ports import RecallIndex
from mewcode.agent.recalling import Recalling, RecallWaits
from mewcode.agent.session import Session
from mewcode.core.message import Message
from mewcode.core.stream import StreamEvent
from mewcode.infra.stoppable import Stop
from mewcode.memory.changes import Create
from mewcode.memory.entry import Entry
from mewcode.memory.note import Note
from mewcode.memory.recall.engine import Engine
from mewcode.memory.recall.selection import selection_words
from mewcode.memory.store import NoteStore
from mewcode.note_source import open_notes
from mewcode.providers.base import ModelRequest

from .fake_embedder import FakeEmbedder
from .sample_session import sample_session, sample_setup
from .scripted_provider import Answer, Hold, ScriptedProvider, answer

LIMIT = 20.0
PATIENT = RecallWaits(request=LIMIT, start=3_600.0, turn=3_600.0)
PORT = Note(
    name="Test database port",
    type="project_knowledge",
    level="project",
    description="Where the test database listens",
    body="It listens on port 5433, never on the usual one.",
)
ASKED = "on which port does the test database listen?"


def remember(folder: Path, *notes: Note, by: Any = "user") -> NoteStore:
    """The notes of the project and the user of `sample_session`, with these in them."""
    setup = sample_setup(folder)
    store = open_notes(setup.places, setup.environ)
    if notes:
        store.apply([Create(note) for note in notes], by=by)
    return store


def recalled(messages: Iterable[Message]) -> list[str]:
    """What these messages tell of notes, a text for each note."""
    return [block.text for message in messages if message.origin == "recall" for block in message.content]  # type: ignore[union-attr]


class ChoosingProvider(ScriptedProvider):
    """Answers each turn as ``turns`` say, and what it is asked to choose with the next of ``choices``, then
    with nothing."""

    def __init__(self, *turns: Answer, choices: Iterable[str | Answer] = ()) -> None:
        super().__init__()
        self.turns = list(turns)
        self.choices = list(choices)
        self.selections: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        items: Answer
        if request.system == (selection_words(),):
            self.selections.append(request)
            said = self.choices.pop(0) if self.choices else '{"selected_memories": []}'
            items = answer(said) if isinstance(said, str) else said
        else:
            self.requests.append(request)
            items = self.turns.pop(0) if self.turns else answer(f"Answer {len(self.requests)}.")
        for item in items:
            if isinstance(item, Hold):
                await item.wait()
            else:
                yield item


class SlowIndex:
    """`RecallIndex` whose engine is given out only once ``gate`` is open."""

    def __init__(self, real: RecallIndex) -> None:
        self._real = real
        self.gate = threading.Event()
        self.asked = threading.Event()

    def has_notes(self) -> bool:
        return self._real.has_notes()

    def store(self) -> NoteStore:
        return self._real.store()

    def engine(self) -> Engine:
        self.asked.set()
        assert self.gate.wait(LIMIT)
        return self._real.engine()

    def refresh_notes(self, entries: Iterable[Entry], stop: Stop) -> bool:
        self.engine()
        return self._real.refresh_notes(entries, lambda: False)

    def refresh(self, stop: Stop) -> bool:
        return self._real.refresh(stop)

    def close(self) -> None:
        self._real.close()


class MeaningIndex(SlowIndex):
    """`RecallIndex` that goes by meaning as well, with a fake model that is loaded at once."""

    def __init__(self, real: RecallIndex, path: Path) -> None:
        super().__init__(real)
        self.by_meaning = Engine(path, FakeEmbedder)

    def engine(self) -> Engine:
        return self.by_meaning

    def refresh_notes(self, entries: Iterable[Entry], stop: Stop) -> bool:
        def body(entry: Entry) -> str | None:
            read = self.store().read(entry.level, entry.file)
            return None if read is None else read.note.body

        return self.by_meaning.update_notes(entries, body) and self.by_meaning.wait_for_vectors(LIMIT)

    def close(self) -> None:
        self.by_meaning.close()
        super().close()


async def settled(session: Session) -> None:
    """Waits for what goes on beside the conversation."""
    async with asyncio.timeout(LIMIT):
        while tasks := list(session.background._tasks):
            await asyncio.wait(tasks)


def recalling_of(session: Session) -> Recalling:
    assert session.work.recalling is not None
    return session.work.recalling


def recall_in(
    folder: Path,
    provider: ScriptedProvider,
    scenario: Callable[[Session], Awaitable[None]],
    *,
    waits: RecallWaits = PATIENT,
    clock: Callable[[], float] | None = None,
    **options: Any,
) -> Session:
    """Opens a session, lets the scenario happen in it, closes it."""

    async def whole() -> Session:
        session = sample_session(folder, provider, **options)
        if session.work.recalling is not None:
            session.work.recalling._waits = waits
            if clock is not None:
                session.work.recalling._clock = clock
        try:
            await scenario(session)
        finally:
            await session.aclose()
        return session

    return asyncio.run(whole())
