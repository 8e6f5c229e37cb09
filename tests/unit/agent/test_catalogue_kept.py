"""The catalogue of sessions follows the turns, in a thread that ends with the session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mewcode.agent.background_work import Waits
from mewcode.agent.session import Session
from mewcode.infra.paths import Places
from mewcode.sessions import browse
from tests.support.sample_session import hold, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer

_WAITS = Waits(briefs=3_600.0, upkeep=3_600.0, busy=0.01, catalogue=0.0)


class _Update:
    """Stands in for `browse.update`: goes on until it is stopped."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        self.places: list[Places] = []

    def __call__(self, places: Places, stop: Callable[[], bool]) -> None:
        self.places.append(places)
        self.begun.set()
        while not stop():
            self.ended.wait(0.01)
        self.ended.set()


@pytest.fixture
def update(monkeypatch: pytest.MonkeyPatch) -> _Update:
    update = _Update()
    monkeypatch.setattr(browse, "update", update)
    return update


def test_once_at_a_time_after_a_turn_and_stopped_at_the_end(update: _Update, tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        session.work._waits = _WAITS
        session.work.attend(session)
        await take_turn(session)
        assert await asyncio.to_thread(update.begun.wait, 20)
        await take_turn(session)
        assert len(update.places) == 1

    session = hold(tmp_path, ScriptedProvider(answer("one"), answer("two")), scenario)
    assert update.ended.wait(20)
    assert update.places == [session.around.places]


def test_not_without_a_front_end(update: _Update, tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        session.work._waits = _WAITS
        await take_turn(session)
        assert "catalogue" not in session.work._timers

    hold(tmp_path, ScriptedProvider(answer("one")), scenario)
    assert not update.begun.is_set()
