"""Esc: in the middle of the text, in a silence, while waiting to try again. The connection ends with it."""

from __future__ import annotations

import asyncio

from mewcode.core.events import RetryScheduled
from mewcode.core.message import Text
from mewcode.core.stream import BlockDelta
from mewcode.providers.retry import RetryPolicy
from tests.support import fake_llm as fake
from tests.support.event_order import check_order
from tests.support.fake_llm import Gate, Reply
from tests.support.sample_agent import sample_tool


def test_the_text_that_came_is_kept(wire) -> None:
    wire.server.script(Reply.text(["Half an ", "answer", Gate("held"), " more"]), Reply.text("Again"))
    shown: list[str] = []

    def interrupt(event, run) -> None:
        if isinstance(event, BlockDelta):
            shown.append(event.text)
            if "".join(shown) == "Half an answer":
                run.interrupt()

    async def scenario() -> None:
        async with wire.agent() as agent:
            for prompt in ("one", "two"):
                async with agent.run(prompt) as run:
                    events = []
                    async for event in run:
                        events.append(event)
                        interrupt(event, run)
                check_order(events)
                if prompt == "one":
                    assert (run.result.stop, run.result.text) == ("interrupted", "Half an answer")
                    assert agent.conversation.messages[1].content == (Text("Half an answer"),)
                    await wire.server.disconnect_seen()
            assert run.result.text == "Again"

    asyncio.run(scenario())
    assert b"Half an answer" in wire.server.generations[1].body


def test_a_call_that_was_not_whole_is_not_kept(wire) -> None:
    wire.server.script(
        Reply.of(fake.text("Well."), fake.tool_call("work", raw_json=['{"va', Gate("held"), '"}']))
    )

    def interrupt(event, run) -> None:
        if isinstance(event, BlockDelta) and event.kind == "tool_call":
            run.interrupt()

    turn = wire.turn(sample_tool("work"), on_event=interrupt)
    assert turn.result.stop == "interrupted"
    assert turn.agent.conversation.messages[1].content == (Text("Well."),)
    assert turn.results() == []


def test_in_a_silence(wire) -> None:
    wire.server.script(Reply.stall("held"))

    async def scenario() -> None:
        async with wire.agent() as agent, agent.run("go") as run:
            await wire.server.gate_reached("held")
            run.interrupt()
            events = [event async for event in run]
            check_order(events)
            assert run.result.stop == "interrupted"
            await wire.server.disconnect_seen()

    asyncio.run(scenario())


def test_while_waiting_to_try_again(wire) -> None:
    wire.server.script(Reply.error(529), Reply.text("never"))

    def interrupt(event, run) -> None:
        if isinstance(event, RetryScheduled):
            run.interrupt()

    turn = wire.turn(on_event=interrupt, retry=RetryPolicy(base=3600, cap=3600))
    assert turn.result.stop == "interrupted"
    assert len(wire.server.generations) == 1
    wire.server.replies.clear()


def test_the_next_turn_after_an_interrupted_tool_is_accepted(wire) -> None:
    wire.server.script(Reply.calls(("hang", {}), ("hang", {}), say="Two."), Reply.text("Sorry"))

    async def hang(args, context):
        running.set()
        await asyncio.Event().wait()

    running = asyncio.Event()

    async def scenario() -> None:
        async with wire.agent(sample_tool("hang", hang)) as agent:
            async with agent.run("go") as run:
                await running.wait()
                run.interrupt()
                check_order([event async for event in run])
            async with agent.run("why?") as run:
                check_order([event async for event in run])
            assert run.result.text == "Sorry"

    asyncio.run(scenario())
    body = wire.server.generations[1].body
    assert b"interrupted by the user" in body
    assert b"not run" in body
    assert b"why?" in body
