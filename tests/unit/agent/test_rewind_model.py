"""Any sequence of turns, rewinds and undos ends where a model of the whole world says."""

from __future__ import annotations

import asyncio
import copy
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.agent.rewind import points, preview_undo, rewind, undo_rewind
from mewcode.agent.session import Session
from mewcode.core.errors import SessionError
from tests.support.sample_session import project_in, sample_session, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call

NAMES = ("a", "夹/b", "夹/c")


@dataclass(frozen=True)
class Turn:
    """Writes texts to files, in order."""

    writes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Back:
    """To the message at ``place`` (modulo their number)."""

    place: int
    conversation: bool
    files: bool


@dataclass(frozen=True)
class Undo:
    pass


@dataclass(frozen=True)
class Restart:
    """The session is left and continued."""


Step = Turn | Back | Undo | Restart
writes = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("xyz")), max_size=3).map(tuple)
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.builds(Turn, writes),
        st.builds(Turn, writes),
        st.builds(Back, st.integers(0, 9), st.booleans(), st.booleans()),
        st.just(Undo()),
        st.just(Restart()),
    ),
    max_size=9,
)


@dataclass
class Model:
    """``said`` is the branch; ``files`` what stands; ``begun``: what stood when each message was said."""

    said: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    begun: dict[str, dict[str, str]] = field(default_factory=dict)
    left: tuple[list[str], dict[str, str], Back] | None = None

    def turn(self, name: str, step: Turn) -> None:
        self.begun[name] = dict(self.files)
        self.said.append(name)
        self.files.update(step.writes)

    def back(self, step: Back) -> None:
        place = step.place % len(self.said)
        said, begun = self.said[:place], self.begun[self.said[place]]
        self._go(said, begun, step)

    def undo(self) -> None:
        assert self.left is not None
        self._go(*self.left)

    def _go(self, said: list[str], files: dict[str, str], how: Back) -> None:
        self.left = list(self.said), dict(self.files), how
        if how.conversation:
            self.said = list(said)
        if how.files:
            self.files = dict(files)


def files_in(project: Path) -> dict[str, str]:
    found = {}
    for name in NAMES:
        if (project / name).exists():
            found[name] = (project / name).read_text("utf-8")
    return found


async def carry_out(session: Session, step: Step, name: str, provider: ScriptedProvider) -> None:
    if isinstance(step, Turn):
        session.tools.session.reads.restore({})
        for path, text in step.writes:
            # What a write has not read it may not replace: the model reads first, as it is told to.
            provider.answers.append(answer(call("read_file", {"path": path})))
            provider.answers.append(answer(call("write_file", {"path": path, "content": text})))
        provider.answers.append(answer("done"))
        await take_turn(session, name)
    elif isinstance(step, Back):
        found = await points(session)
        report = await rewind(
            session, found[step.place % len(found)].id, conversation=step.conversation, files=step.files
        )
        assert not report.failed
        assert not report.conflicts
    elif isinstance(step, Undo):
        report = await undo_rewind(session)
        assert not report.failed
        assert not report.conflicts


@given(steps)
@settings(max_examples=40, deadline=None)
def test_the_world_is_as_the_model_says(sequence: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder).resolve(), sequence))


async def _play(folder: Path, sequence: list[Step]) -> None:
    project, model, provider = project_in(folder), Model(), ScriptedProvider()
    session = sample_session(folder, provider, mode="bypass")
    try:
        for number, step in enumerate(sequence):
            name = f"message {number}"
            if isinstance(step, Turn):
                model.turn(name, step)
            elif isinstance(step, Back):
                if not model.said:
                    continue
                model.back(step)
            elif isinstance(step, Undo):
                if model.left is None:
                    with pytest.raises(SessionError, match="no rewind"):
                        await preview_undo(session)
                    continue
                model.undo()
            elif not model.begun:
                continue
            else:
                await session.aclose()
                provider = copy.copy(provider)
                session = sample_session(folder, provider, mode="bypass", continue_newest=True)
            await carry_out(session, step, name, provider)
            assert [point.text for point in await points(session)] == model.said
            assert files_in(project) == model.files
            assert os.path.exists(project / "夹") == any(name.startswith("夹") for name in model.files)
    finally:
        await session.aclose()
