"""What a session has used and that it is saved: once, and told where it is not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mewcode.agent.session import Session
from mewcode.core.message import Usage
from tests.support.sample_session import hold, project_in, records, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer

OPUS = "claude-opus-5-5"


# What it has used.


def test_usage_is_recorded_once_and_comes_back(tmp_path: Path) -> None:
    spent = Usage(1_000, 500, 20_000, 3_000)
    provider = ScriptedProvider(answer("one", usage=spent), answer("two", usage=spent))

    async def scenario(session: Session) -> None:
        assert session.context_tokens == 0
        await take_turn(session)
        assert session.context_tokens == 24_500
        await take_turn(session)
        assert session.agent.usage == spent + spent

    session = hold(tmp_path, provider, scenario, model=OPUS)
    [usage] = [record for record in records(session) if record.get("type") == "usage"]
    assert usage["models"][OPUS]["cache_read_tokens"] == 40_000
    assert usage["cost_usd"] == pytest.approx(2 * (1_000 * 4 + 500 * 20 + 20_000 * 0.4 + 3_000 * 5) / 1e6)
    before = (session.archive.folder / "conversation.jsonl").read_bytes()

    async def resumed(session: Session) -> None:
        assert session.usage_by_model == {OPUS: spent + spent}
        assert session.agent.cost_usd == pytest.approx(usage["cost_usd"])
        assert session.context_tokens > 0

    session = hold(tmp_path, provider, resumed, model=None, continue_newest=True)
    assert (session.archive.folder / "conversation.jsonl").read_bytes() == before, "nothing has changed"


def test_a_session_in_which_nothing_was_said_leaves_nothing(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        session.use_mode("plan")
        session.use_model(OPUS)

    hold(tmp_path, ScriptedProvider(), scenario)
    assert not (project_in(tmp_path) / ".mewcode").exists()


# Saving.


def test_on_saving_tells_of_a_disk_that_fails_and_recovers(tmp_path: Path) -> None:
    """A file stands where the project folder should be made: not even root can write there."""
    blocked = project_in(tmp_path) / ".mewcode"
    blocked.write_text("in the way")
    provider = ScriptedProvider(answer("one"), answer("two"))
    told: list[str | None] = []

    async def scenario(session: Session) -> None:
        session.on_saving = told.append
        assert told == []
        _, result = await take_turn(session)
        assert result.text == "one"
        assert len(told) == 1
        assert "not being saved" in str(told[0])
        blocked.unlink()
        await take_turn(session)
        assert told[1:] == [None]

    session = hold(tmp_path, provider, scenario)
    said = [record["content"] for record in records(session) if record.get("role") == "assistant"]
    assert said == ["one", "two"]


def test_a_front_end_that_comes_late_is_told_too(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("one"))
    told: list[str | None] = []

    async def scenario(session: Session) -> None:
        (project_in(tmp_path) / ".mewcode").write_text("in the way")
        await take_turn(session)
        session.on_saving = told.append
        assert session.on_saving is not None
        session.clear()
        assert told[1:] == [], "the new conversation has nothing to save yet"

    hold(tmp_path, provider, scenario)
    assert "not being saved" in str(told[0])


class Closing(ScriptedProvider):
    """Counts how often it was closed."""

    ended = 0

    async def aclose(self) -> None:
        self.ended += 1


def test_closing_ends_what_runs_in_the_background(tmp_path: Path) -> None:
    provider = Closing(answer("ok"))
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("endless")

    async def soon() -> None:
        await asyncio.sleep(0)
        ended.append("soon")

    async def scenario(session: Session) -> None:
        session.background.start("endless", endless())
        session.background.start("soon", soon())

    session = hold(tmp_path, provider, scenario)
    assert sorted(ended) == ["endless", "soon"]
    assert session.background.running == ()
    assert provider.ended == 1
