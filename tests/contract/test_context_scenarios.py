"""Long sessions of mixed tool use in windows of 8k to 1M tokens, against a service that counts for itself.

At each request `LongSession` looks whether it repeats the one before it (but where room was said to be made)
and whether what has to be known is; the server refuses what no service would take. With MEWCODE_SOAK=1 each
session has 500 turns, and the figures are printed.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mewcode.core.events import AgentEvent, Compacted, CompactionStarted
from mewcode.core.message import Message
from tests.support.fake_llm import Dialect, FakeLLM, RecordedRequest, Reply
from tests.support.long_session import RULE, LongSession, contents_of, long_session
from tests.support.window_service import good_summary

IS_SOAK = os.environ.get("MEWCODE_SOAK") == "1"
PROTOCOLS = ("anthropic", "openai")
# Window, turns, and how many turns would fill it.
SHORT = ((8_192, 60, 20), (32_000, 60, 20), (200_000, 60, 14), (1_000_000, 40, 4))
LONG = tuple((window, 500, 40) for window, _, _ in SHORT)
TURNS = 500 if IS_SOAK else 60

Work = Callable[[], Awaitable[None]]


def run(session: LongSession, work: Work) -> None:
    """Does ``work`` and ends the session. The server has seen nothing that a service would refuse."""

    async def scenario() -> None:
        try:
            await work()
            await session.end()
        finally:
            await session.close()

    asyncio.run(scenario())
    session.world.server.assert_clean()


def check_summed_up(session: LongSession, times: int = 2) -> None:
    """Room was made as planned, and no request was too long."""
    told = session.told
    assert len(told.compacted) >= times
    assert not told.failed
    assert all(event.by for event in told.compacted)
    assert not session.session.keeper.stopped
    assert session.service.refused == []


@pytest.mark.soak
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("window", "turns", "share"), LONG if IS_SOAK else SHORT)
def test_a_long_session(
    protocol: str,
    window: int,
    turns: int,
    share: int,
    fake_llm: FakeLLM,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The smallest one has no room for a summary of more.
    every = 40 if window >= 32_000 else 160
    session = long_session(protocol, fake_llm, tmp_path, window, size=window // share, every=every)
    run(session, lambda: session.go_on(turns, restarts=2))
    if IS_SOAK:
        with capsys.disabled():
            sys.stdout.write(f"\n{session.report()}\n")
    check_summed_up(session)
    assert session.told.pruned or window < 32_000  # in the smallest one there is too little to leave out
    assert session.work.edits >= turns // 10
    assert session.service.turns.cached > 0.8 * session.service.turns.tokens


@pytest.mark.soak
@pytest.mark.parametrize(("protocol", "window"), [("anthropic", 32_000), ("openai", 200_000)])
def test_a_long_session_in_chinese(protocol: str, window: int, fake_llm: FakeLLM, tmp_path: Path) -> None:
    size = window // 20
    session = long_session(protocol, fake_llm, tmp_path, window, size=size, chinese=True)
    run(session, lambda: session.go_on(TURNS, restarts=1))
    check_summed_up(session)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_turn_that_fills_the_window_again_and_again(
    protocol: str, fake_llm: FakeLLM, tmp_path: Path
) -> None:
    """Every compaction is in the middle of a chain of tools."""
    session = long_session(protocol, fake_llm, tmp_path, 32_000, size=1_600)

    async def work() -> None:
        assert (await session.take(steps=160)).stop == "done"
        assert (await session.take(steps=2)).stop == "done"

    run(session, work)
    check_summed_up(session)
    assert all(event.trigger == "threshold" for event in session.told.compacted)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_compaction_that_is_stopped_changes_nothing(
    protocol: str, fake_llm: FakeLLM, tmp_path: Path
) -> None:
    session = long_session(protocol, fake_llm, tmp_path, 32_000, size=1_600)
    session.service.summary = lambda request: Reply.stall("held", Reply.text(good_summary(request)))
    before: list[Message] = []

    def stop(event: AgentEvent, turn: object) -> None:
        if isinstance(event, CompactionStarted) and not before:
            before.extend(session.session.agent.conversation.messages)
            turn.interrupt()

    async def work() -> None:
        while (await session.take(on_event=stop)).stop != "interrupted":
            assert session.turn < 60
        after = session.session.agent.conversation.messages
        assert contents_of(after[: len(before)]) == contents_of(before)
        assert len(after) == len(before) + 1  # the word that it was stopped
        fake_llm.release("held")
        await session.go_on(10)

    run(session, work)
    [stopped] = session.told.failed
    assert stopped.stopped
    assert session.told.compacted
    assert session.service.refused == []


def missing_a_section(request: RecordedRequest) -> Reply:
    return Reply.text(good_summary(request).replace("## Forbidden", "## Allowed"))


def cut_off(request: RecordedRequest) -> Reply:
    return replace(Reply.text(good_summary(request)), stop_reason="max_tokens")


def longer(request: RecordedRequest) -> Reply:
    return Reply.text(good_summary(request).replace("## Files\n", "## Files\n" + "and so on " * 40_000))


BAD = {
    "empty": ("anthropic", lambda request: Reply.text("  ")),
    "cut off": ("openai", cut_off),
    "longer": ("anthropic", longer),
    "missing a section": ("openai", missing_a_section),
}


@pytest.mark.parametrize("kind", BAD)
def test_where_summaries_fail_the_session_lives_on(kind: str, fake_llm: FakeLLM, tmp_path: Path) -> None:
    """It stops and says why; the service's refusals lead to what is old being left out. Once summaries can be
    had again, one that is asked for sets it going."""
    protocol, summary = BAD[kind]
    session = long_session(protocol, fake_llm, tmp_path, 32_000, size=1_600)
    session.service.summary = summary
    session.is_lenient = True

    async def work() -> None:
        await session.go_on(45, restarts=1)
        session.service.summary = lambda request: Reply.text(good_summary(request))
        report = await session.session.compact("", session.told.take)
        assert isinstance(report, Compacted), report
        assert not session.session.keeper.stopped
        await session.go_on(20)

    run(session, work)
    told = session.told
    assert 3 <= len(told.failed) <= 6  # by three for each process
    [notice, *_] = [notice for notice in told.notices if "not summed up by itself" in notice.text]
    assert "3 attempts failed" in notice.text
    assert any(not event.by for event in told.compacted)
    assert len(session.service.refused) <= 4
    assert told.compacted[-1].by


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_service_that_takes_less_than_the_catalogue_says(
    protocol: str, fake_llm: FakeLLM, tmp_path: Path
) -> None:
    session = long_session(protocol, fake_llm, tmp_path, 200_000, real=32_000, size=1_600)
    run(session, lambda: session.go_on(60))
    told = session.told
    assert len(told.compacted) >= 2
    assert told.compacted[0].trigger == "too_long"
    assert {event.trigger for event in told.compacted[1:]} == {"threshold"}
    assert not told.failed
    assert len(session.service.refused) <= 2
    assert session.session.keeper.thresholds.window <= 32_000


def test_a_service_that_reports_no_usage(fake_llm: FakeLLM, tmp_path: Path) -> None:
    """All is estimated; where that was too little, the service's refusal makes up for it."""
    fake_llm.dialect = Dialect(usage="never")
    session = long_session("openai", fake_llm, tmp_path, 32_000, size=1_600)
    run(session, lambda: session.go_on(60, restarts=1))
    assert len(session.told.compacted) >= 2
    assert not session.told.failed
    assert len(session.service.refused) <= 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_instructions_that_exceed_the_window(protocol: str, fake_llm: FakeLLM, tmp_path: Path) -> None:
    """Said with figures, once for each try, without a request; with shorter ones the session goes on."""
    huge = f"{RULE}\n\n" + "A line of instructions that nobody needs.\n" * 900
    session = long_session(protocol, fake_llm, tmp_path, 8_192, size=400, instructions=huge)

    async def work() -> None:
        for _ in range(2):
            result = await session.take()
            assert result.stop == "error"
            assert "the system prompt and the tools alone take about" in result.error
            assert "8,192" in result.error
            assert "models.<name>.context_window" in result.error
        assert session.service.turns.requests == session.service.asides.requests == 0
        (session.world.project / "MEWCODE.md").write_text(f"{RULE}\n", encoding="utf-8")
        await session.session.reload()
        session.turn = 0
        await session.go_on(30)

    run(session, work)
    check_summed_up(session)
