"""A question aside: sees the conversation, leaves no trace, works while a turn runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mewcode.agent.aside import settled
from mewcode.agent.conversation import new_message
from mewcode.agent.session import Session
from mewcode.core.errors import BadRequest
from mewcode.core.events import AgentEvent
from mewcode.core.message import Message, Text, ToolCall, ToolResult
from mewcode.core.stream import BlockDelta
from tests.support.sample_session import hold, records, take_turn
from tests.support.scripted_provider import Hold, ScriptedProvider, answer, call, failure


def test_it_sees_the_conversation_and_leaves_no_trace(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("done"), answer("Because."), answer("again"))
    events: list[AgentEvent] = []

    async def scenario(session: Session) -> None:
        await take_turn(session, "do it")
        before = list(session.agent.conversation.messages)
        spent = session.agent.usage
        assert await session.ask_aside("why?", events.append) == "Because."
        assert session.agent.conversation.messages == before
        assert session.agent.usage != spent, "what it used was paid for"
        await take_turn(session, "more")

    session = hold(tmp_path, provider, scenario)
    first, aside, later = provider.requests
    assert aside.tool_choice == "none"
    assert (aside.tools, aside.system, aside.model) == (first.tools, first.system, first.model)
    assert aside.messages[: len(first.messages)] == first.messages, "the cached prefix holds"
    assert aside.messages[-1].text.endswith("why?")
    assert "why?" not in "".join(message.text for message in later.messages)
    assert "Because." not in str(records(session))
    assert "".join(event.text for event in events if isinstance(event, BlockDelta)) == "Because."


def test_it_may_come_before_the_first_turn(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("Hello."))

    async def scenario(session: Session) -> None:
        assert await session.ask_aside("hi?", lambda event: None) == "Hello."
        assert session.agent.conversation.messages == []

    hold(tmp_path, provider, scenario)
    assert provider.requests[0].system


def test_it_is_answered_while_a_turn_runs(tmp_path: Path) -> None:
    gate = Hold()
    items = answer("the turn's answer")
    provider = ScriptedProvider([gate, *items], answer("aside"))

    async def scenario(session: Session) -> None:
        async with session.run("go") as run:
            await gate.reached.wait()
            assert await session.ask_aside("and?", lambda event: None) == "aside"
            gate.release.set()
            async for _ in run:
                pass
        assert run.result.text == "the turn's answer"

    hold(tmp_path, provider, scenario)


def test_a_failure_is_raised_and_a_stop_stops(tmp_path: Path) -> None:
    gate = Hold()
    items = answer("never")
    provider = ScriptedProvider(failure(BadRequest("no")), [gate, *items])

    async def scenario(session: Session) -> None:
        with pytest.raises(BadRequest):
            await session.ask_aside("a?", lambda event: None)
        asking = session.background.start("aside", session.ask_aside("b?", lambda event: None))
        await gate.reached.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert session.agent.conversation.messages == []

    hold(tmp_path, provider, scenario)
    assert provider.closed == 2


# In the middle of a step.


def _result(of: ToolCall) -> Message:
    return new_message("tool", (ToolResult(of.id, (Text("ok"),)),), "tool")


def test_calls_that_still_run_have_a_stand_in() -> None:
    one, two = call("bash"), call("grep")
    said = new_message("user", (Text("go"),), "user")
    asked = new_message("assistant", (one, two), "model")
    meanwhile = new_message("user", (Text("and"),), "user")
    assert settled([]) == ()
    assert settled([said]) == (said,)
    for messages, missing in (
        ([said, asked], {one.id, two.id}),
        ([said, asked, _result(two)], {one.id}),
        ([said, asked, _result(two), meanwhile], {one.id}),
        ([said, asked, _result(one), _result(two)], set[str]()),
    ):
        whole = settled(messages)
        added = [message for message in whole if message not in messages]
        assert {result.call_id for message in added for result in message.tool_results} == missing
        assert [message for message in whole if message in messages] == messages
        ids = [result.call_id for message in whole for result in message.tool_results]
        assert sorted(ids) == sorted({one.id, two.id})
        if meanwhile in whole:
            assert whole[-1] == meanwhile
