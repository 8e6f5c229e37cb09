"""A compaction and a pruning break the prefix once, and say so; else each request repeats the last one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mewcode.context.summary import SECTIONS
from mewcode.core.events import Compacted, Pruned, StepStarted
from tests.cache.conversations import MODELS, World, check_bytes_extend, check_extends, turn, units_of
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply, Usage

WINDOW = 40_000
SUMMARY = "\n\n".join(f"## {heading}\n总结 {heading}" for heading in SECTIONS)
LINES = "".join(f"{number} 一行 and some more words\n" for number in range(150))


@pytest.fixture(params=["anthropic", "openai"])
def world(request: pytest.FixtureRequest, fake_llm: FakeLLM, tmp_path: Path) -> World:
    world = World(request.param, fake_llm, tmp_path)
    config = world.home / ".mewcode" / "config.yaml"
    config.parent.mkdir()
    entry = f"{{context_window: {WINDOW}, max_output: 2000}}"
    config.write_text(f"models: {{{MODELS[world.protocol]}: {entry}}}\n")
    return world


class _Steps:
    """Answers each step with the next reply, and with the tokens that the request has; tells before which
    requests room was made."""

    def __init__(self, world: World, replies: list[Reply]) -> None:
        self.world = world
        self.replies = replies
        self.breaks: set[int] = set()
        self._steps = 0
        world.server.aside = Reply.text(SUMMARY)
        world.server.respond_with(self._answer)

    def _answer(self, request: RecordedRequest) -> Reply:
        return replace(self.replies.pop(0), usage=Usage(len(request.body) // 4, 30))

    def see(self, event: object, run: Any) -> None:
        if isinstance(event, StepStarted):
            self._steps += 1
        elif isinstance(event, Pruned | Compacted):
            self.breaks.add(self._steps - 1)

    def check(self) -> None:
        """Each request extends the one before it, to the byte, but where it was said that it would not."""
        requests = self.world.requests
        assert len(requests) == self._steps
        for number, (before, after) in enumerate(pairwise(requests), start=1):
            if number in self.breaks:
                with pytest.raises(AssertionError):
                    check_extends(before, after)
            else:
                check_extends(before, after)
                check_bytes_extend(before, after)


def test_each_pruning_is_one_break(world: World) -> None:
    (world.project / "lines.txt").write_text(LINES, encoding="utf-8")
    reads = [
        Reply.calls(("read_file", {"path": "lines.txt", "offset": number % 7 + 1})) for number in range(40)
    ]
    steps = _Steps(world, [*reads, Reply.text("done")])

    async def scenario() -> None:
        session = world.open(max_turns=100)
        await turn(session, "read on", on_event=steps.see)
        await session.aclose()

    asyncio.run(scenario())
    steps.check()
    assert 1 <= len(steps.breaks) <= 8
    assert all("read on" in str(units_of(request)) for request in world.requests)


def test_each_compaction_is_one_break(world: World) -> None:
    talk = [Reply.calls(("look", {"value": f"{n}:0:1"}), say=f"{n} 想了想 " + LINES) for n in range(30)]
    steps = _Steps(world, [*talk[:15], Reply.text("half done"), *talk[15:], Reply.text("done")])

    async def scenario() -> None:
        session = world.open(max_turns=100)
        await turn(session, "think on", on_event=steps.see)
        await turn(session, "and on", on_event=steps.see)
        await session.aclose()

    asyncio.run(scenario())
    steps.check()
    assert 2 <= len(steps.breaks) <= 8
    last = str(units_of(world.requests[-1]))
    assert "总结 Goal" in last
    assert "and on" in last
