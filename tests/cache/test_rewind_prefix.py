"""After a rewind the next request begins as one that was sent before: the cached prefix serves again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mewcode.agent.rewind import points, rewind, undo_rewind
from tests.cache.conversations import World, check_bytes_extend, check_extends, looks, turn
from tests.support import fake_llm as fake
from tests.support.fake_llm import FakeLLM, Reply


@pytest.fixture(params=["anthropic", "openai"])
def world(request: pytest.FixtureRequest, fake_llm: FakeLLM, tmp_path: Path) -> World:
    return World(request.param, fake_llm, tmp_path)


def test_a_rewound_conversation_extends_an_earlier_request(world: World) -> None:
    world.server.script(
        Reply.of(fake.thinking("Hm.", "sig-0"), fake.tool_call("list_dir", {"path": "."})),
        Reply.of(fake.text("One file.")),
        looks("a", 3),
        Reply.calls(("write_file", {"path": "b.txt", "content": "二\n"})),
        Reply.of(fake.text("Looked.")),
        Reply.of(fake.text("Otherwise.")),
        Reply.of(fake.text("Again.")),
    )

    async def scenario() -> None:
        session = world.open()
        try:
            await turn(session, "What is here?")
            await turn(session, "Look 三次.")
            point = (await points(session))[-1]
            await rewind(session, point.id, conversation=True, files=True)
            await turn(session, "Do something else.")
            await undo_rewind(session)
            await turn(session, "Go on.")
        finally:
            await session.aclose()

    asyncio.run(scenario())
    requests = world.requests
    assert len(requests) == 7
    for earlier, later in ((1, 5), (4, 6)):  # the last request of the kept turn, the first after the rewind
        check_extends(requests[earlier], requests[later])
        check_bytes_extend(requests[earlier], requests[later])
