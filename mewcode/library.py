"""MewCode as a library: an agent without a front end."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from mewcode.agent.ports import Person
from mewcode.agent.run import Run
from mewcode.agent.session import Session
from mewcode.assembly import open_session
from mewcode.core.access import Mode
from mewcode.core.message import Image, Message
from mewcode.infra.paths import find_places
from mewcode.options import Options
from mewcode.setup import Setup
from mewcode.tools.base import AnyTool


class Agent:
    """An agent that works in a folder, turn by turn, with the config, rules and archive of the command line.

    ``mode`` and ``allow`` decide what may run; what would ask is denied unless ``person`` answers. ``tools``
    are added to the built-in ones. ``resume`` continues a session by id. ``environ`` stands in for the
    process's environment. Raises `ConfigError`, `NotConfigured` or `SessionError` at once.

        async with Agent(cwd="project", mode="accept-edits") as agent:
            async with agent.run("fix the failing test") as run:
                async for event in run:
                    ...
            print(run.result.text)
    """

    def __init__(
        self,
        *,
        cwd: str | Path = ".",
        model: str | None = None,
        provider: str | None = None,
        base_url: str | None = None,
        mode: Mode | None = None,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        max_turns: int | None = None,
        max_cost: float | None = None,
        resume: str | None = None,
        person: Person | None = None,
        tools: Sequence[AnyTool] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        options = Options(
            model=model,
            provider=provider,
            base_url=base_url,
            mode=mode,
            allow=tuple(allow),
            deny=tuple(deny),
            max_turns=max_turns,
            max_cost=max_cost,
            resume=resume,
        )
        environ = dict(os.environ if environ is None else environ)
        setup = Setup(options, environ, find_places(Path(cwd), environ))
        self._session: Session = open_session(setup, person, tools=tools)

    @property
    def session_id(self) -> str:
        return self._session.id

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return tuple(self._session.agent.conversation.messages)

    def run(self, prompt: str, images: Sequence[Image] = ()) -> Run:
        """A turn: a context that owns its tasks, and an iterator over its events. One at a time."""
        return self._session.run(prompt, images)

    async def aclose(self) -> None:
        """Saves, and ends what still runs."""
        await self._session.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
