"""The loop over whole turns: steps, limits, endings. Each turn's events are checked for their order."""

from __future__ import annotations

import asyncio

import pytest

from mewcode.agent.interjections import Brought
from mewcode.agent.loop import Limits
from mewcode.agent.tool_runner import OVER_LIMIT
from mewcode.core.access import Verdict
from mewcode.core.errors import AuthError, Overloaded, PromptTooLong, StreamBroken
from mewcode.core.events import ApprovalAnswer, MessageAdded, Notice, RunResult, StepEnded
from mewcode.core.message import Image, Text, Thinking, Usage, text_of
from mewcode.core.outcome import ToolOutcome
from mewcode.providers.catalog import ModelInfo, Price
from tests.support.sample_agent import SamplePerson, SamplePolicy, run_turn, sample_agent, sample_tool
from tests.support.scripted_provider import ANSWER_USAGE, ScriptedProvider, answer, call, failure


def _turn(provider: ScriptedProvider, *tools, **settings) -> tuple[RunResult, object, list]:
    agent = sample_agent(provider, *tools, **settings)
    events, run = asyncio.run(run_turn(agent))
    return run.result, agent, events


def _roles(agent) -> list[str]:
    return [f"{message.role}/{message.origin}" for message in agent.conversation.messages]


def test_an_answer_without_calls_ends_the_turn() -> None:
    result, agent, _ = _turn(ScriptedProvider(answer("Hello")))
    assert (result.text, result.stop, result.steps, result.exit_code) == ("Hello", "done", 1, 0)
    assert not result.is_error
    assert result.usage == ANSWER_USAGE
    assert _roles(agent) == ["user/user", "assistant/model"]


def test_tools_run_until_the_model_is_done() -> None:
    provider = ScriptedProvider(
        answer("Let me see.", call("work", {"value": "a"})),
        answer(call("work", {"value": "b"})),
        answer("Done"),
    )
    result, agent, events = _turn(provider, sample_tool("work"))
    assert (result.text, result.steps) == ("Done", 3)
    assert result.usage == ANSWER_USAGE + ANSWER_USAGE + ANSWER_USAGE
    assert _roles(agent)[1:] == ["assistant/model", "tool/tool"] * 2 + ["assistant/model"]
    assert [event.usage for event in events if isinstance(event, StepEnded)] == [ANSWER_USAGE] * 3
    assert [len(request.messages) for request in provider.requests] == [1, 3, 5]
    assert all(request.tools == provider.requests[0].tools for request in provider.requests)
    assert [spec.name for spec in provider.requests[0].tools] == ["work"]


def test_each_request_is_the_one_before_with_more_at_its_end() -> None:
    provider = ScriptedProvider(*(answer(call("work", {"value": name})) for name in "abc"), answer("Done"))
    _turn(provider, sample_tool("work"))
    for before, after in zip(provider.requests, provider.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        assert after.system == before.system


def test_at_the_step_limit_the_model_reports_without_tools() -> None:
    provider = ScriptedProvider(*(answer(call("work")) for _ in range(2)), answer("Half of it is done."))
    result, _, _ = _turn(provider, sample_tool("work"), limits=Limits(max_steps=2))
    assert (result.stop, result.text, result.steps, result.exit_code) == (
        "limit",
        "Half of it is done.",
        3,
        0,
    )
    assert "2 steps" in result.error
    assert [request.tool_choice for request in provider.requests] == ["auto", "auto", "none"]
    assert provider.requests[-1].tools == provider.requests[0].tools
    assert provider.requests[-1].messages[-1].origin == "reminder"
    assert "Report now" in provider.requests[-1].messages[-1].text


def test_calls_in_the_report_are_refused_and_the_conversation_stays_whole() -> None:
    ran: list[str] = []

    async def work(args, context) -> ToolOutcome:
        ran.append("")
        return ToolOutcome.text("")

    one = call("work")
    provider = ScriptedProvider(answer(call("work")), answer("Report", one), answer("Hello again"))
    agent = sample_agent(provider, sample_tool("work", work), limits=Limits(max_steps=1))
    _, run = asyncio.run(run_turn(agent))
    assert run.result.stop == "limit"
    assert len(ran) == 1
    (result,) = agent.conversation.messages[-1].tool_results
    assert (result.call_id, text_of(result.content)) == (one.id, OVER_LIMIT)


def test_three_answers_with_unusable_calls_stop_the_turn() -> None:
    bad = [answer(call("nope")), answer(call("work", invalid="{")), answer(call("work", {"value": 1.5}))]
    result, agent, _ = _turn(ScriptedProvider(*bad, answer("never")), sample_tool("work"))
    assert (result.stop, result.steps, result.exit_code) == ("error", 3, 1)
    assert "another model" in result.error
    assert _roles(agent)[-1] == "tool/tool"


def test_three_unusable_calls_in_one_answer_get_another_chance() -> None:
    provider = ScriptedProvider(answer(call("nope"), call("nope"), call("nope")), answer("Sorry"))
    assert _turn(provider, sample_tool("work"))[0].stop == "done"


def test_a_usable_call_begins_the_count_anew() -> None:
    bad, good = answer(call("nope")), answer(call("work"), call("nope"))
    provider = ScriptedProvider(bad, bad, good, bad, bad, answer("Done"))
    assert _turn(provider, sample_tool("work"))[0].stop == "done"


@pytest.mark.parametrize(
    ("said", "stop", "asked"),
    [
        (ApprovalAnswer("deny", stop=True), "denied", 1),
        (ApprovalAnswer("deny", "do it differently"), "done", 2),
        (ApprovalAnswer("deny"), "done", 2),
    ],
)
def test_a_denial_stops_the_turn_where_the_user_says_so(said: ApprovalAnswer, stop: str, asked: int) -> None:
    provider = ScriptedProvider(answer(call("work")), answer("Another way then."))
    result, _, _ = _turn(
        provider,
        sample_tool("work"),
        policy=SamplePolicy({"work": Verdict("ask")}),
        person=SamplePerson(said),
    )
    assert result.stop == stop
    assert result.exit_code == 0
    assert len(provider.requests) == asked


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [(AuthError("bad key", "get another"), 1), (PromptTooLong("too long"), 1), (Overloaded("busy"), 75)],
)
def test_an_error_of_the_service_ends_the_turn(error, exit_code: int) -> None:
    result, agent, _ = _turn(ScriptedProvider(*([failure(error, "some text")] * 4)))
    assert (result.stop, result.exit_code, result.error, result.hint) == (
        "error", exit_code, error.message, error.hint,
    )  # fmt: skip
    assert _roles(agent) == ["user/user"]


def test_a_withdrawn_answer_comes_again_whole_and_once() -> None:
    provider = ScriptedProvider(failure(StreamBroken("cut"), "Hel", call("work")), answer("Hello"))
    result, agent, _ = _turn(provider, sample_tool("work"))
    assert result.text == "Hello"
    assert _roles(agent) == ["user/user", "assistant/model"]


def test_an_answer_at_the_output_limit_is_gone_on_with() -> None:
    provider = ScriptedProvider(answer("One, ", stop="max_tokens"), answer("two."))
    result, agent, _ = _turn(provider)
    assert result.stop == "done"
    assert _roles(agent) == ["user/user", "assistant/model", "user/reminder", "assistant/model"]
    assert "cut off" in agent.conversation.messages[2].text


def test_an_answer_is_not_gone_on_with_for_ever() -> None:
    provider = ScriptedProvider(*([answer("more ", stop="max_tokens")] * 10))
    result, _, _ = _turn(provider)
    assert result.steps == 4
    assert len(provider.answers) == 6


def test_a_refusal_is_an_error() -> None:
    result, _, _ = _turn(ScriptedProvider(answer("I will not", stop="refusal")))
    assert (result.stop, result.exit_code, result.text) == ("refusal", 1, "I will not")


def test_a_pause_goes_on() -> None:
    result, _, _ = _turn(ScriptedProvider(answer("Wait", stop="pause"), answer("Here")))
    assert (result.stop, result.text, result.steps) == ("done", "Here", 2)


def test_a_full_window_is_said() -> None:
    result, _, _ = _turn(ScriptedProvider(answer("cut", stop="context_window")))
    assert result.stop == "error"
    assert "/clear" in result.error


@pytest.mark.parametrize("blocks", [(), (Thinking("only this"),)])
def test_an_answer_without_words_is_the_end(blocks) -> None:
    result, _, events = _turn(ScriptedProvider(answer(*blocks)))
    assert (result.stop, result.text) == ("done", "")
    assert any(isinstance(event, Notice) for event in events) == (not blocks)


def test_the_cost_limit_ends_the_turn_after_its_step() -> None:
    model = ModelInfo(name="dear", price=Price(input=1_000_000, output=0))
    provider = ScriptedProvider(
        answer(call("work"), usage=Usage(1)), answer(call("work"), usage=Usage(1)), answer("never")
    )
    result, agent, _ = _turn(provider, sample_tool("work"), model=model, limits=Limits(max_cost_usd=2.0))
    assert (result.stop, result.steps, result.exit_code, result.cost_usd) == ("budget", 2, 1, 2.0)
    assert _roles(agent)[-1] == "tool/tool"


def test_what_the_user_says_meanwhile_goes_behind_the_results() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(answer(call("work"), call("work")), answer("Yes"))

        async def work(args, context) -> ToolOutcome:
            if not agent.interjections.waiting:
                agent.interjections.put("first")
                agent.interjections.put("second")
            return ToolOutcome.text("")

        agent = sample_agent(provider, sample_tool("work", work))
        events, run = await run_turn(agent)
        assert run.result.text == "Yes"
        roles = [message.role for message in provider.requests[1].messages]
        assert roles == ["user", "assistant", "tool", "tool", "user", "user"]
        assert [message.text for message in provider.requests[1].messages[-2:]] == ["first", "second"]
        added = [event.message for event in events if isinstance(event, MessageAdded)]
        assert added == agent.conversation.messages
        assert not agent.interjections.waiting

    asyncio.run(scenario())


def test_what_words_bring_is_said_with_them() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(answer(call("work")), answer("Yes"))
        picture = Image("image/png", "AAAA")

        async def bring() -> Brought:
            return Brought((picture,), ("the file says x",))

        async def work(args, context) -> ToolOutcome:
            agent.interjections.put("look at @x", bring)
            return ToolOutcome.text("")

        agent = sample_agent(provider, sample_tool("work", work))
        await run_turn(agent)
        said, reminded = provider.requests[1].messages[-2:]
        assert said.content == (Text("look at @x"), picture)
        assert (said.origin, reminded.origin) == ("user", "reminder")
        assert "the file says x" in reminded.text

    asyncio.run(scenario())


def test_what_the_user_says_during_the_last_answer_is_answered_in_the_same_turn() -> None:
    async def scenario() -> None:
        provider = ScriptedProvider(answer("Done"), answer("That too"))
        agent = sample_agent(provider)
        agent.interjections.put("and that")
        _, run = await run_turn(agent)
        assert (run.result.text, run.result.steps) == ("That too", 2)

    asyncio.run(scenario())


def test_a_cost_limit_that_cannot_be_kept_ends_the_turn() -> None:
    provider = ScriptedProvider(answer(call("work")), answer("never asked for"))
    result, _, _ = _turn(
        provider, sample_tool("work"), model=ModelInfo(name="m"), limits=Limits(max_cost_usd=5.0)
    )
    assert (result.stop, result.steps, result.exit_code) == ("budget", 1, 1)
    assert "price is unknown" in result.error
