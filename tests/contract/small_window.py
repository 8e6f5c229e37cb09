"""A service that counts tokens and refuses what is too long, and sessions whose model has a small window."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from mewcode.agent.session import Session
from mewcode.context.summary import SECTIONS
from mewcode.core.events import AgentEvent, RunResult
from tests.cache.conversations import MODELS, World, check_extends
from tests.support.event_order import check_order
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply, Usage

WINDOW = 60_000
PAGE = "".join(
    f"{number:4} the quick brown fox jumps over the lazy dog, 敏捷的棕色狐狸\n" for number in range(120)
)


def summary_text(**sections: str) -> str:
    """A summary as a model should write it."""
    said = {"Goal": "The user wants the release notes done.", **sections}
    return "\n\n".join(f"## {heading}\n{said.get(heading, 'None.')}" for heading in SECTIONS)


@dataclass
class Counting:
    """A service that counts a token for four bytes of what it is sent, refuses what exceeds ``limit``, and
    answers questions without tools with ``summary``."""

    server: FakeLLM
    limit: int = WINDOW
    words: str = "prompt is too long: {tokens} tokens > {limit} maximum"
    summary: Callable[[RecordedRequest], Reply] = lambda request: Reply.text(summary_text())
    answers: list[Reply] = field(default_factory=list)
    refused: int = 0

    def __post_init__(self) -> None:
        self.server.respond_with(self.answer)

    def answer(self, request: RecordedRequest) -> Reply:
        tokens = tokens_of(request)
        if tokens > self.limit:
            self.refused += 1
            said = self.words.format(tokens=tokens, limit=self.limit)
            return Reply.error(400, message=said)
        if is_aside(request):
            reply = self.summary(request)
        else:
            reply = self.answers.pop(0) if self.answers else Reply.text("done")
        return replace(reply, usage=Usage(tokens, 50))


def tokens_of(request: RecordedRequest) -> int:
    return len(request.body) // 4


def is_aside(request: RecordedRequest) -> bool:
    return "tools" not in request.payload


@dataclass
class Place:
    """A project whose model has a window of ``window`` tokens."""

    world: World
    service: Counting

    def open(self, window: int = WINDOW, **options: Any) -> Session:
        config = self.world.home / ".mewcode" / "config.yaml"
        config.parent.mkdir(exist_ok=True)
        entry = f"{{context_window: {window}, max_output: 4096}}"
        config.write_text(f"models: {{{MODELS[self.world.protocol]}: {entry}}}\n")
        return self.world.open(**options)

    @property
    def turns(self) -> list[RecordedRequest]:
        return [request for request in self.world.requests if not is_aside(request)]

    @property
    def asides(self) -> list[RecordedRequest]:
        return [request for request in self.world.requests if is_aside(request)]

    def grow(self, steps: int) -> None:
        """Has the model read a page in each of so many steps, and then say that it is done."""
        for number in range(steps):
            name = f"page{number % 40}.txt"
            (self.world.project / name).write_text(f"{name}\n{PAGE}", encoding="utf-8")
            self.service.answers.append(Reply.calls(("read_file", {"path": name})))
        self.service.answers.append(Reply.text("read all of it"))


async def take(
    session: Session, prompt: str = "go", on_event: Any = None
) -> tuple[list[AgentEvent], RunResult]:
    events: list[AgentEvent] = []
    async with asyncio.timeout(30), session.run(prompt) as run:
        async for event in run:
            events.append(event)
            if on_event is not None:
                on_event(event, run)
    check_order(events)
    return events, run.result


def of(events: list[AgentEvent], *kinds: type) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def raw_records(session: Session) -> list[dict[str, Any]]:
    lines = (session.archive.folder / "conversation.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def talk(number: int, size: int = 3_000) -> Reply:
    """A step that leaves much behind that cannot be had again: words, and the result of an own tool."""
    words = f"Step {number}: " + "I think about it for a while, 我想了想。 " * (size // 40)
    return Reply.calls(("look", {"value": f"t{number}:0:1"}), say=words)


def check_extend_but_at_breaks(requests: list[RecordedRequest], breaks: int) -> None:
    """Each request repeats the one before it, but for so many."""
    seen = 0
    for before, after in pairwise(requests):
        try:
            check_extends(before, after)
        except AssertionError:
            seen += 1
    assert seen <= breaks, f"the prefix broke {seen} times, {breaks} times were said"
