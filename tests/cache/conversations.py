"""Conversations through the real session, and the look at what each request repeats of the one before."""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from mewcode.agent.agent import Run
from mewcode.agent.session import Session
from mewcode.assembly import open_session
from mewcode.core.events import AgentEvent, RunResult
from mewcode.core.outcome import ToolOutcome
from mewcode.infra.paths import find_places
from mewcode.options import Options
from mewcode.setup import Setup
from tests.support.event_order import check_order
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply
from tests.support.sample_agent import QUICK, sample_tool

Protocol = Literal["anthropic", "openai"]
MODELS: dict[Protocol, str] = {"anthropic": "claude-opus-5-5", "openai": "sample-model"}

OnEvent = Callable[[AgentEvent, Run], object]


@dataclass
class World:
    """A project, a home and a service. Sessions opened here come one after the other."""

    protocol: Protocol
    server: FakeLLM
    folder: Path
    relay: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    def __post_init__(self) -> None:
        for path in (self.project, self.home):
            path.mkdir(parents=True, exist_ok=True)
        (self.project / "notes.txt").write_text("eins\nzwei\n三\n", encoding="utf-8")

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def open(self, **options: Any) -> Session:
        ours = {"anthropic": self.server.url, "openai": self.server.openai_url}[self.protocol]
        variable = self.protocol.upper()
        environ = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            f"{variable}_BASE_URL": ours,
            f"{variable}_API_KEY": "test-key",
        }
        settings = {"model": MODELS[self.protocol], "mode": "accept-edits", **options}
        setup = Setup(Options(**settings), environ, find_places(self.project, environ))
        look = sample_tool("look", self._look, read_only=True)
        session = open_session(setup, None, tools=(look,))
        session.agent.retry = QUICK  # no test waits for seconds
        return session

    async def _look(self, args: Any, context: Any) -> ToolOutcome:
        """Calls ``batch:place:count`` of one batch end in the reverse order of their places."""
        batch, place, count = args.value.rsplit(":", 2)
        if int(place) + 1 < int(count):
            await self.relay[f"{batch}:{int(place) + 1}"].wait()
        self.relay[f"{batch}:{place}"].set()
        return ToolOutcome.text(f"looked {args.value} 看", is_error=place == "1")

    @property
    def requests(self) -> list[RecordedRequest]:
        return self.server.generations


def looks(batch: str, count: int, say: str | None = None) -> Reply:
    """An answer of parallel calls whose results end in reverse order."""
    return Reply.calls(*(("look", {"value": f"{batch}:{place}:{count}"}) for place in range(count)), say=say)


async def turn(
    session: Session, prompt: str, *, on_event: OnEvent | None = None, limit: float = 20.0
) -> RunResult:
    """One turn to its end, its events checked for their order."""
    events: list[AgentEvent] = []
    async with asyncio.timeout(limit), session.run(prompt) as run:
        async for event in run:
            events.append(event)
            if on_event is not None:
                on_event(event, run)
    check_order(events)
    return run.result


def plain(value: Any) -> Any:
    """A body without its cache breakpoints: they wander, and are no part of the prompt."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key != "cache_control"}
    return [plain(item) for item in value] if isinstance(value, list) else value


_NO_PART_OF_THE_PROMPT = ("messages", "tool_choice", "max_tokens", "max_completion_tokens")


def settings_of(request: RecordedRequest) -> str:
    """All that stands before the messages in the prompt, in order; and what else decides the cache. How long
    the answer may be does not."""
    body = plain(request.json)
    return json.dumps({key: value for key, value in body.items() if key not in _NO_PART_OF_THE_PROMPT})


def units_of(request: RecordedRequest) -> list[tuple[str, Any]]:
    """The messages as a flat row of parts, each with its role: what a prompt is made of in the end."""
    units: list[tuple[str, Any]] = []
    for message in plain(request.json)["messages"]:
        content = message["content"]
        rest = {key: value for key, value in message.items() if key not in ("role", "content")}
        parts = content if isinstance(content, list) else [content]
        units += [(message["role"], json.dumps(part, ensure_ascii=False)) for part in parts]
        if rest:
            units.append((message["role"], json.dumps(rest)))
    return units


def check_extends(before: RecordedRequest, after: RecordedRequest) -> None:
    """Raises AssertionError where the later prompt does not begin with the whole of the earlier one."""
    assert settings_of(after) == settings_of(before), "what stands before the messages has changed"
    old, new = units_of(before), units_of(after)
    assert len(new) >= len(old), "the prompt became shorter"
    for place, (was, now) in enumerate(zip(old, new, strict=False)):
        # A text may go on where nothing but more text of the same side came in between.
        is_last = place == len(old) - 1
        longer = is_last and was[0] == now[0] and now[1].startswith(was[1].removesuffix('"'))
        assert was == now or longer, f"part {place} of {len(old)} has changed:\n{was}\n{now}"


def raw_messages(request: RecordedRequest) -> bytes:
    """The messages' bytes as sent, breakpoints cut out."""
    body = request.body.replace(b',"cache_control":{"type":"ephemeral"}', b"")
    start = body.index(b'"messages":[')
    return body[start : body.index(b'],"stream"', start)]


def check_bytes_extend(before: RecordedRequest, after: RecordedRequest) -> None:
    """As `check_extends`, to the byte: nothing was encoded in another way, no key has moved."""
    old, new = raw_messages(before), raw_messages(after)
    assert new.startswith(old), f"{old[-200:]!r}\n{new[len(old) - 200 : len(old) + 50]!r}"


def check_all_extend(requests: list[RecordedRequest]) -> None:
    for number, (before, after) in enumerate(pairwise(requests)):
        try:
            check_extends(before, after)
        except AssertionError as error:
            raise AssertionError(f"request {number + 2}: {error}") from error


def breakpoints_of(request: RecordedRequest) -> list[str]:
    """Where the breakpoints stand: ``tools/3``, ``messages/0/content/2``."""
    found: list[str] = []

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            if "cache_control" in value:
                assert value["cache_control"] == {"type": "ephemeral"}
                found.append(path)
            for key, item in value.items():
                walk(item, f"{path}/{key}".lstrip("/"))
        elif isinstance(value, list):
            for place, item in enumerate(value):
                walk(item, f"{path}/{place}")

    walk(request.json, "")
    return found
