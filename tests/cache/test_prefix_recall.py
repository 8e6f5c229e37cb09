"""Notes that are recalled go along behind what was said: the prompt's prefix holds, also after a resume."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.session import Session
from mewcode.infra.paths import find_places
from mewcode.memory.changes import Create
from mewcode.memory.note import Note
from mewcode.note_source import open_notes
from tests.cache.conversations import World, check_all_extend, check_bytes_extend, turn, units_of
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.recall import ASKED, PATIENT, PORT, recalling_of

ON_A_FILE = Note(
    name="Order of the numbers",
    type="project_knowledge",
    level="project",
    description="How they stand",
    body="In notes.txt the numbers stand in order; 顺序不变。",
)


@pytest.fixture(params=["anthropic", "openai"])
def world(request: pytest.FixtureRequest, fake_llm: FakeLLM, tmp_path: Path) -> World:
    world = World(request.param, fake_llm, tmp_path)
    environ = {"HOME": str(world.home)}
    store = open_notes(find_places(world.project, environ), environ)
    store.apply([Create(PORT), Create(ON_A_FILE)], by="user")
    return world


def opened(world: World, **options: Any) -> Session:
    session = world.open(**options)
    recalling_of(session)._waits = PATIENT
    return session


def test_recalled_notes_extend_the_prompt_and_a_resume_sends_the_same_bytes(world: World) -> None:
    async def scenario() -> None:
        session = opened(world)
        world.server.script(
            Reply.text("On 5433."),
            Reply.calls(("read_file", {"path": "notes.txt"}), say="看"),
            Reply.text("In order."),
            Reply.text("Again."),
        )
        await turn(session, ASKED)
        await turn(session, "Go!")
        await session.aclose()
        session = opened(world, resume=session.id)
        await turn(session, "Ok.")
        await session.aclose()

    asyncio.run(scenario())
    requests = world.requests
    assert len(requests) == 4
    check_all_extend(requests)
    first, second, third, after = requests
    assert "5433" in str(units_of(first))
    assert "顺序不变" not in str(units_of(second))
    assert "顺序不变" in str(units_of(third))
    check_bytes_extend(third, after)
    for request in requests:
        assert str(units_of(request)).count("never on the usual one") == 1
    world.server.assert_clean()
