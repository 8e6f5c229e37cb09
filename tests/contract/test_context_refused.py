"""The context window over a real wire: what fails, what is refused, what is stopped."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mewcode.core.events import (
    AgentEvent,
    Compacted,
    CompactionFailed,
    CompactionStarted,
    Notice,
    Pruned,
    RunResult,
)
from tests.cache.conversations import World, check_all_extend, check_bytes_extend, units_of
from tests.contract.small_window import (
    WINDOW,
    Counting,
    Place,
    check_extend_but_at_breaks,
    of,
    raw_records,
    summary_text,
    take,
    talk,
)
from tests.support.fake_llm import FakeLLM, Gate, Reply, Text


@pytest.fixture(params=["anthropic", "openai"])
def place(request: pytest.FixtureRequest, fake_llm: FakeLLM, tmp_path: Path) -> Place:
    return Place(World(request.param, fake_llm, tmp_path), Counting(fake_llm))


BAD = {
    "empty": Reply.text("  "),
    "prose": Reply.text("The user wanted something, and it was done."),
    "missing": Reply.text(summary_text().replace("## Forbidden", "## Allowed")),
    "cut off": replace(Reply.text(summary_text()), stop_reason="max_tokens"),
    "longer": Reply.text(summary_text(Decisions="and so on " * 60_000)),
    "refused": Reply.error(400, message="not today"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_summary_that_fails_changes_nothing(place: Place, kind: str) -> None:
    place.service.summary = lambda request: BAD[kind]

    async def scenario() -> None:
        session = place.open(max_turns=200)
        place.service.answers += [*map(talk, range(6)), Reply.text("so far")]
        await take(session)
        before, records = list(session.agent.conversation.messages), raw_records(session)
        events: list[AgentEvent] = []
        report = await session.compact("", events.append)
        assert isinstance(report, CompactionFailed)
        assert report.reason
        assert [type(event) for event in events] == [CompactionStarted, CompactionFailed]
        assert session.agent.conversation.messages == before
        assert raw_records(session) == records
        await take(session, "go on")
        await session.aclose()

    asyncio.run(scenario())
    check_all_extend(place.turns)


def test_three_failures_stop_it_and_the_service_still_gets_what_it_takes(place: Place) -> None:
    """Where no summary can be had, the service's refusal leads to what is old being left out."""
    place.service.summary = lambda request: Reply.text("no")

    async def scenario() -> list[AgentEvent]:
        session = place.open(max_turns=200)
        place.service.answers += [*map(talk, range(70)), Reply.text("all done")]
        events, result = await take(session, "Mind the rule: never push.")
        assert (result.stop, result.text) == ("done", "all done")
        assert "3 attempts failed" in session.keeper.stopped
        await session.aclose()
        return events

    events = asyncio.run(scenario())
    assert len(of(events, CompactionFailed)) == 3
    notice = next(event for event in of(events, Notice) if "not summed up by itself" in event.text)
    assert "/compact" in notice.hint
    left = [event for event in of(events, Compacted) if not event.by]
    assert left
    assert all(event.trigger == "too_long" for event in left)
    assert place.service.refused >= len(left)
    check_extend_but_at_breaks(place.turns, len(of(events, Compacted, Pruned)))


def test_a_service_that_takes_less_than_is_known(place: Place) -> None:
    """Its refusal leads to one compaction and one retry, in the middle of a tool chain; after that its limit
    is known."""
    place.service.limit = 30_000

    async def scenario() -> list[AgentEvent]:
        session = place.open(window=200_000, max_turns=200)
        place.service.answers += [*map(talk, range(40)), Reply.text("all done")]
        events, result = await take(session, "Never push.")
        assert (result.stop, result.text) == ("done", "all done")
        assert session.keeper.thresholds.window <= 30_000
        await session.aclose()
        return events

    events = asyncio.run(scenario())
    triggers = [event.trigger for event in of(events, Compacted)]
    assert triggers[0] == "too_long"
    assert set(triggers[1:]) <= {"threshold"}
    assert place.service.refused in (1, 2)  # the turn's, and the summary's where it was as long
    assert all("Never push." in str(units_of(request)) for request in place.turns)


def test_one_message_that_fits_nowhere_ends_the_turn_with_figures(place: Place) -> None:
    async def scenario() -> RunResult:
        session = place.open()
        _, result = await take(session, "one two three " * 40_000)
        await session.aclose()
        return result

    result = asyncio.run(scenario())
    assert result.stop == "error"
    assert "60,000" in result.error or "service takes about" in result.error
    assert "/clear" in result.hint
    assert place.service.refused <= 2


def test_a_fixed_part_that_leaves_no_room_is_said_before_anything_is_sent(place: Place) -> None:
    async def scenario() -> RunResult:
        session = place.open(window=4_000)
        _, result = await take(session, "hi")
        await session.aclose()
        return result

    result = asyncio.run(scenario())
    assert result.stop == "error"
    assert "the system prompt and the tools alone take about" in result.error
    assert "4,000" in result.error
    assert "/model" in result.hint
    assert not place.world.requests


def test_esc_stops_a_compaction_and_leaves_all_as_it_was(place: Place) -> None:
    place.service.summary = lambda request: Reply.of(Gate("summary"), Text("late"))

    async def scenario() -> list[AgentEvent]:
        session = place.open(max_turns=200)
        place.service.answers += [*map(talk, range(70)), Reply.text("all done")]
        seen: list[int] = []

        def stop(event: AgentEvent, run: Any) -> None:
            if isinstance(event, CompactionStarted):
                seen.append(len(session.agent.conversation.messages))
                run.interrupt()

        events, result = await take(session, "go", stop)
        assert result.stop == "interrupted"
        assert len(session.agent.conversation.messages) == seen[0] + 1  # the word that it was stopped
        assert not [record for record in raw_records(session) if record.get("type") == "compact"]
        place.service.summary = lambda request: Reply.text(summary_text())
        place.service.answers[:] = [Reply.text("on again")]
        more, again = await take(session, "go on")
        assert (again.stop, again.text) == ("done", "on again")
        assert of(more, Compacted)
        await session.aclose()
        return events

    events = asyncio.run(scenario())
    [failed] = of(events, CompactionFailed)
    assert failed.stopped


def test_a_session_that_does_not_fit_is_summed_up_where_it_is_continued(place: Place) -> None:
    """On what was read, without a word in the archive; where no model helps, what is old is left out."""

    async def scenario() -> None:
        session = place.open(window=400_000, max_turns=200)
        place.service.limit = 400_000
        place.service.answers += [*map(talk, range(80)), Reply.text("all done")]
        await take(session, "Never push.")
        await session.aclose()
        archive = session.archive.folder / "conversation.jsonl"
        before = archive.read_bytes()
        place.service.limit = WINDOW
        session = place.open(continue_newest=True)
        await session.prepare()
        assert archive.read_bytes() == before
        events, result = await take(session, "and now?")
        assert result.stop == "done"
        assert "summed up" in of(events, Notice)[0].text
        head = session.agent.conversation.messages[0]
        assert "The user wants the release notes done." in head.text
        await take(session, "and then?")
        await session.aclose()
        place.service.summary = lambda request: Reply.text("no")
        session = place.open(continue_newest=True)
        events, result = await take(session, "once more")
        assert result.stop == "done"
        assert "left out" in of(events, Notice)[0].text
        [event] = of(events, Compacted)
        assert (event.trigger, event.by) == ("resumed", "")
        await session.aclose()

    asyncio.run(scenario())
    assert place.service.refused == 0
    first, second, _ = place.turns[-3:]
    check_bytes_extend(first, second)
