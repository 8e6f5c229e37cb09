"""Sessions as the composition root joins them, in a project of a test's own, with a model in memory."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from mewcode.agent.ports import Person
from mewcode.agent.session import Session
from mewcode.assembly import open_session
from mewcode.core.events import AgentEvent, RunResult
from mewcode.infra.paths import find_places
from mewcode.options import Options
from mewcode.providers.base import Endpoint
from mewcode.providers.registry import Service
from mewcode.setup import Setup

from .event_order import check_order
from .scripted_provider import ScriptedProvider

SERVICE = Service("sample", "openai", Endpoint("http://127.0.0.1:9"))


def project_in(folder: Path) -> Path:
    """``folder/project``, made where it is missing; ``folder/home`` is its user's home."""
    for name in ("project", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder / "project"


def sample_setup(
    folder: Path,
    *,
    environ: Mapping[str, str] | None = None,
    service: Service | None = SERVICE,
    **options: Any,
) -> Setup:
    """The set-up of a start in ``folder/project``."""
    project = project_in(folder)
    surroundings = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], **(environ or {})}
    return Setup(Options(**options), surroundings, find_places(project, surroundings), service=service)


def sample_session(
    folder: Path, provider: ScriptedProvider, person: Person | None = None, **options: Any
) -> Session:
    """A session of the model ``sample-model``, unless the options name another or None."""
    setup = sample_setup(folder, **{"model": "sample-model", **options})
    return open_session(setup, person, provider)


async def take_turn(session: Session, prompt: str = "go") -> tuple[list[AgentEvent], RunResult]:
    """A turn to its end: its events, checked for their order, and its result."""
    events: list[AgentEvent] = []
    async with session.run(prompt) as run:
        async for event in run:
            events.append(event)
    check_order(events)
    return events, run.result


def hold(
    tmp_path: Path,
    provider: ScriptedProvider,
    scenario: Callable[[Session], Awaitable[None]],
    **options: Any,
) -> Session:
    """Opens a session, lets the scenario happen in it, closes it."""

    async def whole() -> Session:
        session = sample_session(tmp_path, provider, **options)
        try:
            await scenario(session)
        finally:
            await session.aclose()
        return session

    return asyncio.run(whole())


def records(session: Session, session_id: str = "") -> list[dict[str, Any]]:
    """What the archive of the session, or of another of its folder, holds."""
    folder = session.archive.folder.parent / (session_id or session.id)
    lines = (folder / "conversation.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
