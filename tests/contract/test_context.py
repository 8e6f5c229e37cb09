"""The context window over a real wire: sessions that grow beyond it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mewcode.agent.rewind import points, rewind, undo_rewind
from mewcode.agent.session import Session
from mewcode.core.events import (
    AgentEvent,
    Compacted,
    CompactionFailed,
    CompactionStarted,
    Pruned,
    RunResult,
)
from mewcode.sessions.reader import load_history, load_session
from tests.cache.conversations import World, check_bytes_extend, units_of
from tests.contract.small_window import (
    WINDOW,
    Counting,
    Place,
    check_extend_but_at_breaks,
    of,
    take,
    talk,
    tokens_of,
)
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply


@pytest.fixture(params=["anthropic", "openai"])
def place(request: pytest.FixtureRequest, fake_llm: FakeLLM, tmp_path: Path) -> Place:
    return Place(World(request.param, fake_llm, tmp_path), Counting(fake_llm))


def test_old_results_make_room_first(place: Place) -> None:
    async def scenario() -> list[AgentEvent]:
        session = place.open(max_turns=200)
        place.grow(60)
        events, result = await take(session, "Read all pages. Never touch secret.txt.")
        assert (result.stop, result.text) == ("done", "read all of it")
        await session.aclose()
        session = place.open(continue_newest=True)
        await take(session, "and now?")
        await session.aclose()
        return events

    events = asyncio.run(scenario())
    pruned = of(events, Pruned)
    assert pruned
    assert all(event.after < 0.7 * event.before for event in pruned)
    assert not of(events, CompactionStarted)
    assert place.service.refused == 0
    *turns, resumed = place.turns
    assert max(map(tokens_of, turns)) < WINDOW
    assert all("Never touch secret.txt." in str(units_of(request)) for request in place.turns)
    check_extend_but_at_breaks(turns, len(pruned))
    assert "left out to save room" in str(units_of(resumed))


def test_a_session_that_was_pruned_is_resumed_to_the_byte(place: Place) -> None:
    async def scenario() -> None:
        session = place.open(max_turns=200)
        place.grow(60)

        def end(event: AgentEvent, run: object) -> None:
            if isinstance(event, Pruned):
                place.service.answers[:] = [Reply.text("read enough")]

        await take(session, "Read all pages.", end)
        await session.aclose()
        session = place.open(continue_newest=True)
        await take(session, "and now?")
        await session.aclose()

    asyncio.run(scenario())
    before, after = place.turns[-2:]
    check_bytes_extend(before, after)
    assert "left out to save room" in str(units_of(before))


def test_the_archive_keeps_what_is_left_out(place: Place) -> None:
    async def scenario() -> Session:
        session = place.open(max_turns=200)
        place.grow(40)
        await take(session)
        await session.aclose()
        return session

    session = asyncio.run(scenario())
    whole, seen = load_history(session.archive.folder), load_session(session.archive.folder)
    assert seen.replaced
    assert [message.id for message in whole.messages] == [message.id for message in seen.messages]
    for kept, shown in zip(whole.messages, seen.messages, strict=True):
        text = str(shown.tool_results)
        assert (kept != shown) == (shown.id in seen.replaced)
        assert ("left out to save room" in text) == (shown.id in seen.replaced)
    assert [message.text for message in seen.messages] == [
        message.text for message in session.agent.conversation.messages
    ]


def test_a_compaction_in_the_middle_of_a_tool_chain(place: Place) -> None:
    """The summary was prepared in the background, so nobody waits for it; what was kept is valid."""
    (place.world.project / "MEWCODE.md").write_text("Rule: be kind.\n", encoding="utf-8")

    async def scenario() -> tuple[list[AgentEvent], RunResult, list[RecordedRequest]]:
        session = place.open(max_turns=200)
        edit = ("write_file", {"path": "made.py", "content": "answer = 42\n"})
        todo = ("todo", {"items": [{"text": "write the notes", "status": "in_progress"}]})
        place.service.answers += [Reply.calls(edit, todo), *map(talk, range(60)), Reply.text("all done")]

        def change(event: AgentEvent, run: object) -> None:
            if isinstance(event, CompactionStarted):
                (place.world.project / "MEWCODE.md").write_text("Rule: be brief.\n", encoding="utf-8")

        events, result = await take(session, "Write the notes. Never push.", change)
        assert [item.text for item in session.tools.session.todos] == ["write the notes"]
        messages = list(session.agent.conversation.messages)
        await session.aclose()
        usage = session.usage_by_model
        session = place.open(continue_newest=True)
        assert [item.text for item in session.tools.session.todos] == ["write the notes"]
        assert [message.content for message in session.agent.conversation.messages] == [
            message.content for message in messages
        ]
        assert session.usage_by_model == usage
        assert session.agent.conversation.turns == 1
        await take(session, "and now?")
        await session.aclose()
        return events, result, place.turns

    events, result, turns = asyncio.run(scenario())
    assert (result.stop, result.text) == ("done", "all done")
    done = of(events, Compacted)
    assert done
    assert not of(events, CompactionFailed)
    assert all(event.trigger == "threshold" for event in done)
    assert any(event.ahead for event in done)
    assert all(event.after < 0.7 * event.before for event in done)
    assert "made.py" in done[0].files
    assert place.service.refused == 0
    assert max(map(tokens_of, turns)) < WINDOW
    check_extend_but_at_breaks(turns[:-1], len(done) + len(of(events, Pruned)))
    check_bytes_extend(turns[-2], turns[-1])
    for request in turns:
        assert "Never push." in str(units_of(request))
    last = str(turns[-1].json)
    assert "The user wants the release notes done." in last
    assert "answer = 42" in last
    assert "Rule: be brief." in last
    assert "Rule: be kind." not in last
    spent = sum(map(tokens_of, turns[:-1]))
    assert result.usage.context_tokens > spent + tokens_of(place.asides[0])  # summaries are counted


def test_what_came_before_can_be_gone_back_to(place: Place) -> None:
    """Rewind, fork, export: behind the marker stands all that was said."""

    async def scenario() -> None:
        session = place.open(max_turns=200)
        for number in range(4):
            place.service.answers += [*(talk(10 * number + step) for step in range(4)), Reply.text("so far")]
            await take(session, f"prompt {number}")
        before = [message.content for message in session.agent.conversation.messages]
        report = await session.keeper.compact("mind the gap")
        assert isinstance(report, Compacted)
        assert "mind the gap" in str(units_of(place.asides[-1]))
        await take(session, "behind it")
        whole = [message.content for message in load_history(session.archive.folder).messages]
        assert whole[: len(before)] == before
        offered = await points(session)
        assert [point.text for point in offered] == [*(f"prompt {n}" for n in range(4)), "behind it"]
        # To just behind the marker: the compacted conversation, the same as a resume gives it.
        await rewind(session, offered[-1].id, conversation=True, files=False)
        compacted = [message.content for message in session.agent.conversation.messages]
        assert "The user wants the release notes done." in str(compacted[0])
        loaded = load_session(session.archive.folder)
        assert [message.content for message in loaded.messages] == compacted
        # To before it.
        await rewind(session, offered[2].id, conversation=True, files=False)
        messages = [message.content for message in session.agent.conversation.messages]
        assert messages == before[: len(messages)]
        assert "prompt 1" in str(messages)
        assert "prompt 2" not in str(messages)
        await undo_rewind(session)
        assert [message.content for message in session.agent.conversation.messages] == compacted
        await take(session, "on it goes")
        # To just behind the marker, from behind another one.
        place.service.answers += [*(talk(step) for step in range(4)), Reply.text("so far")]
        await take(session, "and on")
        assert isinstance(await session.keeper.compact(), Compacted)
        point = next(point for point in await points(session) if point.text == "on it goes")
        await rewind(session, point.id, conversation=True, files=False)
        assert [message.content for message in session.agent.conversation.messages] == compacted
        assert [message.content for message in load_session(session.archive.folder).messages] == compacted
        await take(session, "on it goes")
        await session.fork()
        await take(session, "in the fork")
        await session.aclose()
        forked = load_session(session.archive.folder)
        assert forked.messages[0].origin == "compaction"
        assert [message.text for message in forked.messages if message.origin == "user"][-2:] == [
            "on it goes",
            "in the fork",
        ]
        assert [message.content for message in load_history(session.archive.folder).messages][
            : len(before)
        ] == before

    asyncio.run(scenario())
    check_bytes_extend(*place.turns[-2:])
