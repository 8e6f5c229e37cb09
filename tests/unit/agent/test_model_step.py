"""One step of the model: attempts, withdrawal, what an interruption keeps."""

from __future__ import annotations

import asyncio

import pytest

from mewcode.agent.conversation import Conversation
from mewcode.agent.model_step import model_step
from mewcode.core.errors import AuthError, Overloaded, ProviderError, RateLimited, StreamBroken
from mewcode.core.events import AgentEvent, MessageAdded, RetryScheduled, StreamWithdrawn
from mewcode.core.message import Text, Thinking, Usage
from mewcode.core.stream import BlockDelta, BlockStart
from mewcode.providers.base import ModelRequest
from mewcode.providers.retry import RetryPolicy
from tests.support.sample_agent import MODEL, MemoryArchive
from tests.support.scripted_provider import (
    ANSWER_USAGE,
    Answer,
    Hold,
    ScriptedProvider,
    answer,
    block,
    call,
    failure,
)

REQUEST = ModelRequest(MODEL, (), ())


class Step:
    """A step over these answers, with what it emitted and the waits that it asked for."""

    def __init__(self, *answers: Answer, policy: RetryPolicy | None = None) -> None:
        self.provider = ScriptedProvider(*answers)
        self.archive = MemoryArchive()
        self.conversation = Conversation(self.archive)
        self.events: list[AgentEvent] = []
        self.waits: list[float] = []
        self.policy = policy or RetryPolicy(max_attempts=3)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def run(self):
        return model_step(
            self.provider, REQUEST, self.conversation, self.events.append, self.policy, self._sleep
        )

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


def test_an_answer_is_added_once_with_its_usage() -> None:
    step = Step(answer(Thinking("hm"), "Hello"))
    message, reason = asyncio.run(step.run())
    assert reason == "end_turn"
    assert message.content == (Thinking("hm"), Text("Hello"))
    assert message.usage == ANSWER_USAGE
    assert message.model == MODEL.name
    assert step.archive.messages == [message] == step.conversation.messages
    assert step.conversation.usage == {MODEL.name: ANSWER_USAGE}
    assert step.provider.closed == 1


def test_blocks_stand_in_the_order_in_which_they_began_and_empty_text_is_left_out() -> None:
    woven = [*block(1, Text("second")), *block(0, Text("first")), *block(2, Text("")), answer()[-1]]
    message, _ = asyncio.run(Step(woven).run())
    assert message.content == (Text("first"), Text("second"))


def test_an_answer_with_nothing_in_it_is_returned_and_not_added() -> None:
    step = Step(answer())
    message, _ = asyncio.run(step.run())
    assert message.content == ()
    assert step.archive.messages == []


def test_what_was_shown_is_withdrawn_before_the_request_is_sent_again() -> None:
    step = Step(failure(StreamBroken("cut"), "Hel", call("bash")), answer("Hello"))
    message, _ = asyncio.run(step.run())
    assert message.content == (Text("Hello"),)
    withdrawn, retry = step.kinds().index("StreamWithdrawn"), step.kinds().index("RetryScheduled")
    assert withdrawn + 1 == retry
    assert [event for event in step.events if isinstance(event, MessageAdded)] == [MessageAdded(message)]


def test_nothing_is_withdrawn_where_nothing_was_shown() -> None:
    step = Step(failure(Overloaded("busy")), answer("Hello"))
    asyncio.run(step.run())
    assert step.kinds()[0] == "RetryScheduled"
    assert not any(isinstance(event, StreamWithdrawn) for event in step.events)


def test_retries_count_up_and_wait_as_the_policy_and_the_service_say() -> None:
    step = Step(
        failure(RateLimited("slow down", retry_after=7.0)), failure(Overloaded("busy")), answer("Hello")
    )
    asyncio.run(step.run())
    retries = [event for event in step.events if isinstance(event, RetryScheduled)]
    assert [retry.attempt for retry in retries] == [2, 3]
    assert [retry.delay for retry in retries] == step.waits
    assert step.waits[0] == 7.0
    assert 1.5 <= step.waits[1] <= 2.0


@pytest.mark.parametrize("shown", [(), ("some text",)])
def test_the_last_error_is_raised_when_no_attempt_is_left(shown: tuple[str, ...]) -> None:
    step = Step(*(failure(Overloaded(f"busy {number}"), *shown) for number in range(3)))
    with pytest.raises(Overloaded, match="busy 2"):
        asyncio.run(step.run())
    assert len(step.provider.requests) == 3
    assert step.archive.messages == []
    assert step.kinds().count("StreamWithdrawn") == 3 * len(shown)


def test_a_refusal_is_not_tried_again() -> None:
    step = Step(failure(AuthError("no")), answer("never"))
    with pytest.raises(AuthError):
        asyncio.run(step.run())
    assert len(step.provider.requests) == 1
    assert step.waits == []


def test_a_stream_without_an_ending_is_incomplete() -> None:
    step = Step(block(0, Text("Hel")), answer("Hello"))
    message, _ = asyncio.run(step.run())
    assert message.content == (Text("Hello"),)


def test_usage_of_failed_attempts_counts() -> None:
    failed = [*answer("Hel")[:-1], failure(StreamBroken("cut"))[0]]
    step = Step(failed, answer("Hello"))
    asyncio.run(step.run())
    assert step.conversation.usage[MODEL.name] == ANSWER_USAGE + ANSWER_USAGE


def test_an_interruption_keeps_the_text_that_came_and_no_call() -> None:
    async def scenario() -> Step:
        hold = Hold()
        step = Step(
            [
                *block(0, Thinking("whole thought", "sig", "anthropic")),
                *block(1, call("bash", {"command": "ls"})),
                BlockStart(2, "text"),
                BlockDelta(2, "text", "Half an "),
                BlockDelta(2, "text", "answer"),
                hold,
            ]
        )
        task = asyncio.ensure_future(step.run())
        await hold.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return step

    step = asyncio.run(scenario())
    (kept,) = step.archive.messages
    assert kept.content == (Thinking("whole thought", "sig", "anthropic"), Text("Half an answer"))
    assert step.provider.closed == 1


@pytest.mark.parametrize("came", [[], block(0, Thinking("only a thought")), block(0, call("bash"))])
def test_an_interruption_without_text_keeps_nothing(came: list) -> None:
    async def scenario() -> Step:
        hold = Hold()
        step = Step([*came, hold])
        task = asyncio.ensure_future(step.run())
        await hold.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return step

    assert asyncio.run(scenario()).archive.messages == []


def test_an_interruption_while_waiting_for_a_retry_keeps_nothing_of_what_was_withdrawn() -> None:
    async def scenario() -> Step:
        waiting = asyncio.Event()
        step = Step(failure(StreamBroken("cut"), "Hel"), answer("never"))

        async def sleep(seconds: float) -> None:
            waiting.set()
            await asyncio.Event().wait()

        step._sleep = sleep  # type: ignore[method-assign]  # the step asks for its own
        task = asyncio.ensure_future(step.run())
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return step

    step = asyncio.run(scenario())
    assert step.archive.messages == []
    assert len(step.provider.requests) == 1


@pytest.mark.parametrize("stop", ["max_tokens", "context_window"])
def test_a_last_call_without_arguments_at_the_output_limit_was_cut_off(stop) -> None:
    first, last = call("list_dir"), call("list_dir")
    message, _ = asyncio.run(Step(answer(first, last, stop=stop)).run())
    assert message.tool_calls[0] == first
    assert message.tool_calls[1].invalid


def test_a_call_with_arguments_at_the_output_limit_is_whole() -> None:
    whole = call("bash", {"command": "ls"})
    message, _ = asyncio.run(Step(answer(whole, stop="max_tokens")).run())
    assert message.tool_calls == (whole,)


def test_no_attempt_at_all_is_an_error() -> None:
    with pytest.raises(ProviderError):
        asyncio.run(Step(policy=RetryPolicy(max_attempts=0)).run())


def test_usage_is_that_of_the_last_report() -> None:
    first, last = Usage(1, 1), Usage(3, 4)
    items = [*answer("x", usage=last)]
    items.insert(0, type(items[-2])(first))
    message, _ = asyncio.run(Step(items).run())
    assert message.usage == last
