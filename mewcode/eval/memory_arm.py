"""A task taken with or without memory: its sessions are run in a workspace and for a user of its own."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from mewcode.agent.session import Session
from mewcode.assembly import open_session
from mewcode.config.load import LoadedConfig
from mewcode.config.schema import Config, MemoryConfig
from mewcode.core.errors import MewCodeError
from mewcode.core.events import RunResult
from mewcode.eval.memory_tasks import Task
from mewcode.infra.paths import PROJECT_DIR, Places, project_of
from mewcode.memory.budget import BUDGET, Budget
from mewcode.note_source import has_notes, open_notes
from mewcode.options import Options
from mewcode.recall_source import open_recall, refresh_notes
from mewcode.sessions.workspaces import cache_path
from mewcode.setup import Setup

Arm = Literal["memory", "plain"]
ARMS: tuple[Arm, ...] = ("memory", "plain")

_DENIED = ("bash", f"read_file({PROJECT_DIR})", f"read_file({PROJECT_DIR}/**)")
"""Nothing is run, and what was told is not read in the files where it is kept."""
_DENIED_PLAIN = ("search_history", "read_history")
_MOST_STEPS = 10
_BACKGROUND_SECONDS = 180.0
"""For what goes on behind a turn: two looks for notes of a minute at most, and the index."""
_REPLACED = ("MEWCODE_MODEL", "MEWCODE_PROVIDER", "MEWCODE_USER")
"""Variables that say what is settled already, or whose notes are read."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of a task in one arm. ``missed``: see `Task.missed`; ``error``: why there is no answer.
    ``tokens``: read and written in all sessions, side calls included, but for ``extraction_tokens``, which
    went into keeping notes. ``seconds``: of the later session's turn; ``total_seconds``: of all. ``told``:
    what was said of notes meanwhile."""

    done: bool = False
    answer: str = ""
    missed: tuple[str, ...] = ()
    error: str = ""
    tokens: int = 0
    extraction_tokens: int = 0
    seconds: float = 0.0
    total_seconds: float = 0.0
    told: tuple[str, ...] = ()


class ArmRunner:
    """Runs tasks with the service and the models of the user's ``setup``, of which nothing else is taken.
    ``model``: the one that answered last."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.model = setup.loaded.config.model or ""

    async def run(self, task: Task, arm: Arm) -> Outcome:
        """What fails is part of the outcome."""
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="mewcode-eval-", ignore_cleanup_errors=True) as folder:
            trial = _Trial(self._arm_setup(Path(folder).resolve(), arm))
            try:
                outcome = await trial.run(task)
            except (MewCodeError, OSError) as error:
                said = error.message if isinstance(error, MewCodeError) else error.strerror or str(error)
                outcome = Outcome(error=said)
            finally:
                _drop_caches(trial.setup)
            self.model = trial.model or self.model
        return msgspec.structs.replace(
            outcome,
            tokens=max(0, trial.tokens - trial.extraction_tokens),
            extraction_tokens=trial.extraction_tokens,
            total_seconds=round(time.perf_counter() - began, 3),
            told=tuple(trial.told),
        )

    def _arm_setup(self, folder: Path, arm: Arm) -> Setup:
        home, root = folder / "home", folder / "work"
        user = home / PROJECT_DIR
        for made in (user, root):
            made.mkdir(parents=True, mode=0o700)
        # Not looked for: the folder may lie in a repository, whose instructions would be read.
        places = Places(root, root, user, project_of(root, user))
        config, is_plain = self._setup.loaded.config, arm == "plain"
        options = Options(
            model=config.model,
            mode="dont-ask",
            deny=_DENIED + _DENIED_PLAIN if is_plain else _DENIED,
            max_turns=_MOST_STEPS,
            no_memory=is_plain,
        )
        setup = Setup(options, _environ(self._setup.environ, home, user), places, service=self._setup.service)
        setup.loaded = LoadedConfig(_config(setup.loaded.config, config, is_plain=is_plain), [])
        return setup


def _environ(environ: Mapping[str, str], home: Path, user: Path) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in _REPLACED}
    caches = str(home / ".cache")
    return {**kept, "HOME": str(home), "MEWCODE_HOME": str(user), "XDG_CACHE_HOME": caches}


def _config(fresh: Config, users: Config, *, is_plain: bool) -> Config:
    """The models of the user's config, and how it keeps notes, which it does."""
    return msgspec.structs.replace(
        fresh,
        small_model=users.small_model,
        provider=users.provider,
        providers=users.providers,
        models=users.models,
        memory=msgspec.structs.replace(
            users.memory, enabled=True, daily_token_limit=MemoryConfig().daily_token_limit
        ),
        sessions={"briefs": not is_plain},
    )


class _Trial:
    """``tokens``: of all sessions so far, among them ``extraction_tokens``; ``told``: the lines that a person
    would have seen of notes."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.model = ""
        self.tokens = self.extraction_tokens = 0
        self.told: list[str] = []

    async def run(self, task: Task) -> Outcome:
        """Raises MewCodeError and OSError."""
        for turns in task.earlier:
            await self._tell(turns)
        await asyncio.to_thread(self._index)
        result, seconds = await self._ask(task.ask)
        missed = task.missed(result.text)
        return Outcome(not missed, result.text, missed, seconds=seconds)

    async def _tell(self, turns: Sequence[str]) -> None:
        """A session as a person has it, who waits after each turn until its notes are taken."""
        session = open_session(self.setup, None)
        conversations = [session.agent.conversation]
        try:
            if session.noting is not None:
                session.noting.attend(session, self.told.append)
            for turn in turns:
                await _turn(session, turn)
                await _settled(session)
            session.clear()  # what no turn was a reason to look at is looked through now
            conversations.append(session.agent.conversation)
            await _settled(session)
        finally:
            await session.aclose()
            for conversation in conversations:
                self.tokens += sum(usage.context_tokens for usage in conversation.usage.values())
            self.extraction_tokens = Budget(self.setup.places.user / BUDGET, 0).spent()

    def _index(self) -> None:
        """What a session in which a person types does in its first second."""
        places, environ = self.setup.places, self.setup.environ
        if not self.setup.options.no_memory and has_notes(places, environ):
            engine = open_recall(places, environ)
            try:
                refresh_notes(engine, open_notes(places, environ))
            finally:
                engine.close()

    async def _ask(self, text: str) -> tuple[RunResult, float]:
        """The answer of the later session, and the seconds that its turn took."""
        session = open_session(self.setup, None)
        try:
            await session.warm()  # as at a prompt, where a person types meanwhile
            await _settled(session)
            began = time.perf_counter()
            result = await _turn(session, text)
            return result, round(time.perf_counter() - began, 3)
        finally:
            await session.aclose()
            self.model = session.model.name
            self.tokens += sum(usage.context_tokens for usage in session.usage_by_model.values())


async def _turn(session: Session, text: str) -> RunResult:
    async with session.run(text) as run:
        async for _ in run:
            pass
    result = run.result
    if result.is_error:
        raise MewCodeError(result.error or f"the turn ended: {result.stop}", result.hint)
    return result


async def _settled(session: Session) -> None:
    if not await session.background.settle(_BACKGROUND_SECONDS):
        running = ", ".join(session.background.running)
        raise MewCodeError(f"not done within {_BACKGROUND_SECONDS:g} s: {running}")


def _drop_caches(setup: Setup) -> None:
    """What was kept of these sessions where the system keeps caches."""
    places = setup.places
    for path in (open_recall(places, setup.environ).path, cache_path(places.project / "sessions")):
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink(missing_ok=True)
