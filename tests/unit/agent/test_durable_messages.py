"""Which messages are made durable at once: the user's and the final answer; the others soon."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mewcode.agent.conversation import Conversation
from mewcode.core.message import Message
from tests.support.sample_agent import MemoryArchive, sample_agent, sample_tool
from tests.support.sample_session import hold, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call


class Marked(MemoryArchive):
    def __init__(self) -> None:
        super().__init__()
        self.at_once: list[tuple[str, bool]] = []

    def append(self, message: Message, *, sync: bool = False) -> None:
        super().append(message, sync=sync)
        self.at_once.append((message.role, sync))


def test_the_user_s_words_and_the_final_answer_wait_for_nothing():
    archive = Marked()
    provider = ScriptedProvider(answer(call("work")), answer("done"))
    agent = sample_agent(provider, sample_tool("work"))
    agent.conversation = Conversation(archive)

    async def turn() -> None:
        async with agent.run("go") as run:
            async for _ in run:
                pass

    asyncio.run(turn())
    assert archive.at_once == [("user", True), ("assistant", False), ("tool", False), ("assistant", True)]


def test_the_exit_waits_until_all_is_durable(tmp_path: Path):
    async def scenario(session) -> None:
        await take_turn(session)
        session.use_mode("plan")

    session = hold(tmp_path, ScriptedProvider(answer("done")), scenario)
    assert session.archive.failing is None
    assert session.archive.flush()
