"""A turn as its consumer sees it: the context, the iterator, interruption, what is left behind."""

from __future__ import annotations

import asyncio

import pytest

from mewcode.agent.tool_runner import INTERRUPTED, NOT_RUN
from mewcode.core.errors import Overloaded
from mewcode.core.events import (
    MessageAdded,
    Notice,
    StepStarted,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from mewcode.core.message import Image, Usage, text_of
from mewcode.core.outcome import ToolOutcome
from mewcode.core.stream import BlockDelta, BlockStart
from mewcode.providers.catalog import ModelInfo, Price
from mewcode.providers.retry import RetryPolicy
from tests.support.event_order import check_order
from tests.support.sample_agent import run_turn, sample_agent, sample_tool
from tests.support.scripted_provider import Hold, ScriptedProvider, answer, call, failure


def _tasks() -> set[asyncio.Task]:
    return asyncio.all_tasks() - {asyncio.current_task()}


def test_a_turn_begins_and_ends_with_its_events() -> None:
    async def scenario() -> None:
        agent = sample_agent(ScriptedProvider(answer("Hello")))
        events, run = await run_turn(agent, "hi")
        assert events[0] == TurnStarted("sample")
        assert events[-1] == TurnEnded(run.result)
        assert isinstance(events[1], MessageAdded)
        assert events[1].message.text == "hi"
        assert run.result.duration_ms >= 0
        assert not _tasks()

    asyncio.run(scenario())


def test_the_result_is_there_only_at_the_end() -> None:
    async def scenario() -> None:
        agent = sample_agent(ScriptedProvider(answer("Hello")))
        async with agent.run("hi") as run:
            with pytest.raises(RuntimeError):
                _ = run.result
            async for _ in run:
                pass
            assert run.result.text == "Hello"
            with pytest.raises(StopAsyncIteration):
                await anext(run)

    asyncio.run(scenario())


def test_one_turn_at_a_time() -> None:
    async def scenario() -> None:
        agent = sample_agent(ScriptedProvider(answer("Hello"), answer("Again")))
        early = agent.run("made before")
        async with agent.run("hi"):
            with pytest.raises(RuntimeError):
                agent.run("meanwhile")
            with pytest.raises(RuntimeError):
                async with early:
                    pass
        _, run = await run_turn(agent)
        assert run.result.stop == "done"

    asyncio.run(scenario())


def test_images_go_with_the_prompt() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(answer("A cat"))
        agent = sample_agent(provider)
        picture = Image("image/png", "aGk=")
        async with agent.run("what is it?", [picture]) as run:
            async for _ in run:
                pass
        assert provider.requests[0].messages[0].content[1] == picture

    asyncio.run(scenario())


@pytest.mark.parametrize("vision", [True, False])
def test_a_picture_that_the_model_does_not_take_is_said_before_sending(vision: bool) -> None:
    async def scenario() -> None:
        agent = sample_agent(ScriptedProvider(answer("A cat")))
        agent.model = ModelInfo(name="m", vision=vision)
        async with agent.run("what is it?", [Image("image/png", "aGk=")]) as run:
            events = [event async for event in run]
        kinds = [type(event) for event in events]
        notices = [event.text for event in events if isinstance(event, Notice)]
        assert ("m takes no images" in "".join(notices)) == (not vision)
        assert vision or kinds.index(Notice) < kinds.index(StepStarted)

    asyncio.run(scenario())


def test_reminders_go_with_the_next_prompt_and_only_once() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(answer("One"), answer("Two"))
        agent = sample_agent(provider)
        agent.remind("Plan mode is on.")
        await run_turn(agent, "first")
        await run_turn(agent, "second")
        texts = [message.text for message in provider.requests[1].messages]
        assert texts[:2] == ["first", "<system-reminder>\nPlan mode is on.\n</system-reminder>"]
        assert texts[2:] == ["One", "second"]

    asyncio.run(scenario())


def test_leaving_the_context_cancels_and_awaits_everything() -> None:
    async def scenario() -> None:
        cleaned: list[str] = []

        async def hang(args, context) -> ToolOutcome:
            context.progress("running")
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)  # clean-up that needs the loop
                cleaned.append(args.value)
            raise AssertionError

        two = [call("hang", {"value": name}) for name in "ab"]
        provider = ScriptedProvider(answer(*two))
        agent = sample_agent(provider, sample_tool("hang", hang, read_only=True))
        async with agent.run("go") as run:
            seen = 0
            async for event in run:
                seen += isinstance(event, ToolProgress)
                if seen == 2:
                    break
        assert sorted(cleaned) == ["a", "b"]
        assert not _tasks()
        assert run.result.stop == "interrupted"
        results = [message.tool_results[0] for message in agent.conversation.messages if message.tool_results]
        assert [text_of(result.content) for result in results] == [INTERRUPTED, INTERRUPTED]
        assert provider.closed == 1

    asyncio.run(scenario())


def test_an_error_of_the_consumer_ends_the_turn_too() -> None:
    async def scenario() -> None:
        hold = Hold()
        agent = sample_agent(ScriptedProvider([hold]))

        async def consume() -> None:
            async with agent.run("go"):
                await hold.reached.wait()
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await consume()
        assert not _tasks()
        agent.run("the next one may begin")

    asyncio.run(scenario())


def test_an_interruption_in_the_text_keeps_it_and_says_so_to_the_model() -> None:
    async def scenario() -> None:
        hold = Hold()
        provider = ScriptedProvider(
            [BlockStart(0, "text"), BlockDelta(0, "text", "Half a"), hold], answer("Go on then")
        )
        agent = sample_agent(provider)
        _, run = await run_turn(
            agent, on_event=lambda event, run: isinstance(event, BlockDelta) and run.interrupt()
        )
        assert (run.result.stop, run.result.text, run.result.exit_code) == ("interrupted", "Half a", 130)
        await run_turn(agent, "next")
        roles = [(message.role, message.origin) for message in provider.requests[1].messages]
        assert roles == [("user", "user"), ("assistant", "model"), ("user", "reminder"), ("user", "user")]
        assert "interrupted" in provider.requests[1].messages[2].text

    asyncio.run(scenario())


def test_an_interruption_in_the_middle_of_two_tools() -> None:
    async def scenario() -> None:
        async def hang(args, context) -> ToolOutcome:
            await asyncio.Event().wait()
            raise AssertionError

        two = [call("hang"), call("hang")]
        agent = sample_agent(ScriptedProvider(answer("Two things.", *two)), sample_tool("hang", hang))
        _, run = await run_turn(
            agent, on_event=lambda event, run: isinstance(event, ToolStarted) and run.interrupt()
        )
        assert run.result.stop == "interrupted"
        assert run.result.text == "Two things."
        results = [message.tool_results[0] for message in agent.conversation.messages if message.tool_results]
        assert [(result.call_id, text_of(result.content)) for result in results] == [
            (two[0].id, INTERRUPTED),
            (two[1].id, NOT_RUN),
        ]

    asyncio.run(scenario())


def test_an_interruption_stops_the_wait_for_a_retry() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(failure(Overloaded("busy")), answer("never"))
        agent = sample_agent(provider, retry=RetryPolicy(base=3600, cap=3600))
        _, run = await run_turn(
            agent, on_event=lambda event, run: type(event).__name__ == "RetryScheduled" and run.interrupt()
        )
        assert run.result.stop == "interrupted"
        assert len(provider.requests) == 1

    asyncio.run(scenario())


def test_an_interruption_before_the_turn_has_begun_has_an_end() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(answer("never"))
        agent = sample_agent(provider)
        events = []
        async with asyncio.timeout(5), agent.run("go") as run:
            run.interrupt()
            events += [event async for event in run]
        check_order(events)
        assert run.result.stop == "interrupted"
        assert provider.requests == []

    asyncio.run(scenario())


def test_an_interruption_may_come_twice_and_after_the_end() -> None:
    async def scenario() -> None:
        hold = Hold()
        agent = sample_agent(ScriptedProvider([hold]))
        async with agent.run("go") as run:
            await hold.reached.wait()
            run.interrupt()
            run.interrupt()
            events = [event async for event in run]
            run.interrupt()
        check_order(events)
        assert run.result.stop == "interrupted"

    asyncio.run(scenario())


def test_a_defect_in_the_loop_still_ends_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ScriptedProvider):
        async def stream(self, request):
            raise KeyError("a defect")
            yield

    async def scenario() -> None:
        agent = sample_agent(Broken())
        events, run = await run_turn(agent)
        assert run.result.stop == "error"
        assert "KeyError" in run.result.error
        assert events[-1] == TurnEnded(run.result)

    asyncio.run(scenario())
    assert "turn.loop failed" in caplog.text


def test_usage_and_cost_are_those_of_the_turn_and_of_the_session() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(answer("One", usage=Usage(100, 10)), answer("Two", usage=Usage(50, 5)))
        agent = sample_agent(provider, model=ModelInfo(name="m", price=Price(input=10_000, output=0)))
        await run_turn(agent)
        _, run = await run_turn(agent)
        assert run.result.usage == Usage(50, 5)
        assert agent.usage == Usage(150, 15)
        assert run.result.cost_usd == agent.cost_usd == pytest.approx(1.5)

    asyncio.run(scenario())


def test_events_wait_for_a_slow_consumer() -> None:
    async def scenario() -> None:
        hold = Hold()
        provider = ScriptedProvider(answer(call("work")), [*answer("Done")[:-1], hold])
        agent = sample_agent(provider, sample_tool("work"))
        async with agent.run("go") as run:
            await hold.reached.wait()  # nothing was taken from the queue by now
            hold.release.set()
            events = [event async for event in run]
        check_order(events)
        assert sum(isinstance(event, StepStarted) for event in events) == 2

    asyncio.run(scenario())
