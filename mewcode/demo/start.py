"""Starts the demo, in a terminal or without one."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TextIO

from mewcode.agent.ports import Person
from mewcode.agent.session import Session
from mewcode.assembly import open_session
from mewcode.core.errors import NotConfigured
from mewcode.core.events import AgentEvent, MessageAdded, RunResult, ToolEnded, ToolStarted
from mewcode.core.message import text_of
from mewcode.demo.script import ALLOWED, MODEL, PROMPT, ScriptedProvider
from mewcode.headless.output import SessionFacts
from mewcode.headless.run import run_headless
from mewcode.infra.paths import Places
from mewcode.options import Options
from mewcode.providers.base import Endpoint
from mewcode.providers.registry import Service
from mewcode.setup import Setup

LABEL = "DEMO: a script, no model"

# Seconds between two words on a screen: quick reading speed.
_PACE = 0.03


def start_demo(environ: Mapping[str, str], *, interactive: bool) -> int:
    """Plays the demo in a temporary copy of its project and returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="mewcode-demo-") as folder:
        top = Path(folder).resolve()
        root = top / "stats"
        shutil.copytree(Path(__file__).parent / "project", root, ignore=shutil.ignore_patterns("__pycache__"))
        places = Places(root, root, top / "home", root / ".mewcode")
        options = Options(model=MODEL, allow=() if interactive else ALLOWED)
        # No config of the user's applies; the commands run in their environment, as always.
        service = Service("demo", "openai", Endpoint("http://127.0.0.1:9"))
        setup = Setup(options, environ, places, service=service)
        if interactive:
            return _in_terminal(setup)
        return asyncio.run(_without_terminal(setup))


def _in_terminal(setup: Setup) -> int:
    from mewcode.repl.start import Look, run_repl

    def opened(person: Person, picked: str | None, fork: bool) -> Session:
        return open_session(setup, person, ScriptedProvider(_PACE))

    sys.stdout.write("This is a demo: a script speaks, no model is behind it. Everything else is real.\n")
    places = setup.places
    # The folder is gone at the end, and nobody comes back to what was typed there.
    look = Look(places.cwd, places.root, prompt=PROMPT, label=LABEL, keeps_history=False)
    return run_repl(opened, setup.environ, look)


async def _without_terminal(setup: Setup) -> int:
    session = open_session(setup, None, ScriptedProvider(0.0))
    try:
        await session.prepare()
        facts = SessionFacts(session.id, MODEL, "demo", str(setup.places.cwd), session.mode, ())
        return await run_headless(session.agent, _prompts(), _Transcript(sys.stdout), facts)
    finally:
        await session.aclose()


async def _prompts() -> AsyncGenerator[str, None]:
    yield PROMPT


class _Transcript:
    """`headless.output.Output` that shows every step as plain lines. A tool is named where its result is
    shown: calls that overlap end in any order."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._summaries: dict[str, str] = {}

    def begin(self, facts: SessionFacts) -> None:
        self._line(f"[{LABEL}]")

    def event(self, event: AgentEvent) -> None:
        if isinstance(event, ToolStarted):
            self._summaries[event.call_id] = event.summary
        elif isinstance(event, ToolEnded):
            self._line(f"\n[{LABEL}] * {event.name} {self._summaries.pop(event.call_id)}")
            lines = text_of(event.outcome.content).splitlines()
            self._line("\n".join(f"    {line}" for line in lines))
        elif isinstance(event, MessageAdded) and event.message.role != "tool" and event.message.text:
            speaker = "you" if event.message.role == "user" else "script"
            self._line(f"\n{speaker}> {event.message.text}")

    def end(self, results: list[RunResult]) -> None:
        self._line(f"\n[{LABEL}]")

    def _line(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


def play_instead(environ: Mapping[str, str], error: NotConfigured, *, interactive: bool) -> int:
    """Plays the demo where no model is configured, and says why."""
    sys.stderr.write(f"mewcode: {error}\n\n")
    return start_demo(environ, interactive=interactive)
