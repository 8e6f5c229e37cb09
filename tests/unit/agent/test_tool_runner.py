"""The tool step: each call gets exactly one result, whatever happens."""

from __future__ import annotations

import asyncio

import pytest

from mewcode.agent.conversation import Conversation
from mewcode.agent.tool_runner import INTERRUPTED, NOT_RUN, OVER_LIMIT, ToolStep
from mewcode.core.access import Verdict
from mewcode.core.errors import ToolError
from mewcode.core.events import (
    AgentEvent,
    ApprovalAnswer,
    ApprovalRequested,
    ApprovalResolved,
    Notice,
    ToolEnded,
    ToolProgress,
    ToolStarted,
)
from mewcode.core.message import ToolCall, text_of
from mewcode.core.outcome import ToolOutcome
from mewcode.tools.base import ToolContext
from tests.support.sample_agent import (
    MemoryArchive,
    SampleArgs,
    SamplePerson,
    SamplePolicy,
    sample_agent,
    sample_tool,
)
from tests.support.scripted_provider import ScriptedProvider, call

ASK = Verdict("ask", "because", "sample-rule")


class Calls:
    """The calls of one answer, run by these tools."""

    def __init__(self, *tools, policy=None, person=None, rules=None) -> None:
        agent = sample_agent(ScriptedProvider(), *tools, policy=policy, person=person, rules=rules)
        self.runner = agent.tools
        self.archive = MemoryArchive()
        self.conversation = Conversation(self.archive)
        self.events: list[AgentEvent] = []

    async def run(self, *calls: ToolCall) -> ToolStep:
        return await self.runner.run(calls, self.conversation, self.events.append)

    def results(self) -> list[tuple[str, str, bool]]:
        found = [result for message in self.archive.messages for result in message.tool_results]
        return [(result.call_id, text_of(result.content), result.is_error) for result in found]

    def texts(self, *calls: ToolCall) -> list[str]:
        by_id = {call_id: text for call_id, text, _ in self.results()}
        assert len(by_id) == len(self.results())
        return [by_id[call.id] for call in calls]

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


def test_a_call_is_run_and_its_result_added() -> None:
    async def work(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        context.progress("half")
        return ToolOutcome.text(f"did {args.value}")

    calls = Calls(sample_tool("work", work))
    one = call("work", {"value": "this"})
    step = asyncio.run(calls.run(one))
    assert calls.results() == [(one.id, "did this", False)]
    assert calls.of(ToolStarted) == [ToolStarted(one.id, "work", "this", {"value": "this"})]
    assert calls.of(ToolProgress) == [ToolProgress(one.id, "half")]
    assert not step.denied
    assert step.unusable == 0


def test_calls_that_change_things_run_one_by_one_in_order() -> None:
    running: list[str] = []

    async def work(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        running.append(f"+{args.value}")
        await asyncio.sleep(0)
        running.append(f"-{args.value}")
        return ToolOutcome.text(args.value)

    calls = Calls(sample_tool("work", work))
    three = [call("work", {"value": name}) for name in "abc"]
    asyncio.run(calls.run(*three))
    assert running == ["+a", "-a", "+b", "-b", "+c", "-c"]
    assert [text for _, text, _ in calls.results()] == ["a", "b", "c"]


def test_read_only_neighbours_overlap() -> None:
    barrier: list[asyncio.Barrier] = []

    async def look(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        if not barrier:
            barrier.append(asyncio.Barrier(3))
        async with asyncio.timeout(5):
            await barrier[0].wait()  # passes only when all three are here
        return ToolOutcome.text(args.value)

    calls = Calls(sample_tool("look", look, read_only=True))
    three = [call("look", {"value": name}) for name in "abc"]
    asyncio.run(calls.run(*three))
    assert calls.texts(*three) == ["a", "b", "c"]


def test_a_write_waits_for_the_reads_before_it_and_holds_up_those_after_it() -> None:
    order: list[str] = []

    async def work(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        order.append(f"+{args.value}")
        await asyncio.sleep(0)
        order.append(f"-{args.value}")
        return ToolOutcome.text("")

    calls = Calls(sample_tool("look", work, read_only=True), sample_tool("write", work))
    names = [("look", "r1"), ("look", "r2"), ("write", "w"), ("look", "r3")]
    asyncio.run(calls.run(*(call(name, {"value": value}) for name, value in names)))
    assert set(order[:4]) == {"+r1", "+r2", "-r1", "-r2"}
    assert order[:2] == ["+r1", "+r2"]
    assert order[4:] == ["+w", "-w", "+r3", "-r3"]


def test_a_failure_is_a_result_and_its_siblings_go_on() -> None:
    async def fail(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        raise ToolError("no such thing", "try another")

    async def crash(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        raise ZeroDivisionError("oops")

    for read_only in (False, True):
        calls = Calls(
            sample_tool("fail", fail, read_only=read_only),
            sample_tool("crash", crash, read_only=read_only),
            sample_tool("work", read_only=read_only),
        )
        three = [call("fail"), call("crash"), call("work", {"value": "x"})]
        step = asyncio.run(calls.run(*three))
        fails, crashes, works = calls.texts(*three)
        assert fails == "no such thing\ntry another"
        assert "ZeroDivisionError: oops" in crashes
        assert works == "echo x"
        assert [outcome.outcome.is_error for outcome in calls.of(ToolEnded)].count(True) == 2
        assert step.unusable == 0


def test_a_tool_that_cannot_sum_itself_up_has_a_result_all_the_same() -> None:
    tool = sample_tool("work")
    tool.summary = lambda args, session: 1 / 0  # type: ignore[method-assign]  # a defect on purpose
    calls = Calls(tool)
    one = call("work")
    asyncio.run(calls.run(one))
    assert "ZeroDivisionError" in calls.texts(one)[0]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (call("wrok"), "did you mean work?"),
        (call("zzz"), "there is no tool named 'zzz'"),
        (call("work", invalid='{"value": "cut o'), "nothing was run"),
        (call("work", {"value": [1]}), "value"),
        (call("work", {"other": "x"}), "other"),
    ],
)
def test_a_call_that_cannot_be_run_is_answered_and_counted(bad: ToolCall, words: str) -> None:
    ran: list[str] = []

    async def work(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        ran.append(args.value)
        return ToolOutcome.text("")

    calls = Calls(sample_tool("work", work))
    step = asyncio.run(calls.run(bad))
    ((_, text, is_error),) = calls.results()
    assert words in text
    assert is_error
    assert ran == []
    assert step.unusable == 1


def test_what_the_policy_denies_is_not_run() -> None:
    calls = Calls(sample_tool("work"), policy=SamplePolicy({"work": Verdict("deny", "it is forbidden")}))
    one = call("work")
    step = asyncio.run(calls.run(one))
    assert calls.texts(one) == ["permission denied: it is forbidden"]
    assert not step.denied


def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    calls = Calls(sample_tool("work"), policy=SamplePolicy({"work": ASK}))
    one = call("work")
    asyncio.run(calls.run(one))
    assert "no user is here to ask" in calls.texts(one)[0]
    assert calls.of(ApprovalRequested) == []


@pytest.mark.parametrize(("choice", "remembered"), [("once", []), ("session", ["sample-rule"])])
def test_an_approval_lets_the_call_run(choice, remembered: list[str]) -> None:
    policy = SamplePolicy({"work": ASK})
    person = SamplePerson(ApprovalAnswer(choice))
    calls = Calls(sample_tool("work"), policy=policy, person=person)
    one = call("work", {"value": "x"})
    asyncio.run(calls.run(one))
    assert calls.texts(one) == ["echo x"]
    assert policy.rules == remembered
    assert person.asked[0].summary == "x"
    assert person.asked[0].rule == "sample-rule"
    assert calls.of(ApprovalResolved) == [ApprovalResolved(one.id, choice)]


class Keeper:
    def __init__(self, why: str | None = None) -> None:
        self.why, self.rules = why, []

    def remember(self, rule: str) -> str | None:
        self.rules.append(rule)
        return self.why


def test_a_rule_for_the_project_is_kept_and_a_failure_to_keep_it_said() -> None:
    for why in (None, "the disk is full"):
        keeper, policy = Keeper(why), SamplePolicy({"work": ASK})
        calls = Calls(
            sample_tool("work"), policy=policy, person=SamplePerson(ApprovalAnswer("project")), rules=keeper
        )
        asyncio.run(calls.run(call("work")))
        assert keeper.rules == policy.rules == ["sample-rule"]
        assert [why in notice.text for notice in calls.of(Notice)] == ([True] if why else [])


def test_a_denial_is_read_by_the_model_and_the_turn_goes_on() -> None:
    for answer, words in (
        (ApprovalAnswer("deny", "use the other file"), "the user said no: use the other file"),
        (ApprovalAnswer("deny"), "the user said no"),
    ):
        calls = Calls(
            sample_tool("ask"), sample_tool("work"), policy=SamplePolicy({"ask": ASK}),
            person=SamplePerson(answer),
        )  # fmt: skip
        two = [call("ask"), call("work", {"value": "x"})]
        step = asyncio.run(calls.run(*two))
        assert calls.texts(*two) == [words, "echo x"]
        assert not step.denied


def test_a_denial_that_stops_leaves_the_rest_undone() -> None:
    calls = Calls(
        sample_tool("ask"), sample_tool("work"), policy=SamplePolicy({"ask": ASK}),
        person=SamplePerson(ApprovalAnswer("deny", stop=True)),
    )  # fmt: skip
    three = [call("ask"), call("work"), call("ask")]
    step = asyncio.run(calls.run(*three))
    assert step.denied
    assert calls.texts(*three) == ["the user said no and stopped the turn", NOT_RUN, NOT_RUN]
    assert len(calls.of(ToolStarted)) == len(calls.of(ToolEnded)) == 3


def test_a_sibling_that_waits_to_ask_is_not_asked_once_the_turn_is_stopped() -> None:
    person = SamplePerson(ApprovalAnswer("deny", stop=True))
    calls = Calls(sample_tool("look", read_only=True), policy=SamplePolicy({"look": ASK}), person=person)
    two = [call("look"), call("look")]
    step = asyncio.run(calls.run(*two))
    assert step.denied
    assert len(person.asked) == 1
    assert calls.texts(*two) == ["the user said no and stopped the turn", NOT_RUN]


def test_one_question_at_a_time_and_a_rule_answers_the_rest() -> None:
    async def scenario() -> None:
        asked, go = asyncio.Event(), asyncio.Event()

        async def slow() -> ApprovalAnswer:
            asked.set()
            await go.wait()
            return ApprovalAnswer("session")

        policy = SamplePolicy({"look": Verdict("ask", "because", "look")})
        person = SamplePerson(slow)
        calls = Calls(sample_tool("look", read_only=True), policy=policy, person=person)
        three = [call("look", {"value": name}) for name in "abc"]
        task = asyncio.ensure_future(calls.run(*three))
        await asked.wait()
        assert len(person.asked) == 1
        go.set()
        await task
        assert len(person.asked) == 1
        assert calls.texts(*three) == ["echo a", "echo b", "echo c"]

    asyncio.run(scenario())


async def _interrupt(calls: Calls, reached: asyncio.Event, *made: ToolCall) -> None:
    task = asyncio.ensure_future(calls.run(*made))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_interruption_in_the_second_of_three_calls() -> None:
    async def scenario() -> None:
        reached = asyncio.Event()
        cleaned: list[bool] = []

        async def hang(args: SampleArgs, context: ToolContext) -> ToolOutcome:
            reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append(True)
            raise AssertionError

        calls = Calls(sample_tool("work"), sample_tool("hang", hang))
        three = [call("work", {"value": "x"}), call("hang"), call("work")]
        await _interrupt(calls, reached, *three)
        assert calls.texts(*three) == ["echo x", INTERRUPTED, NOT_RUN]
        assert cleaned == [True]
        assert [event.call_id for event in calls.of(ToolEnded)] == [made.id for made in three]
        assert len(calls.of(ToolStarted)) == 3

    asyncio.run(scenario())


def test_an_interruption_of_overlapping_calls_keeps_what_was_done() -> None:
    async def scenario() -> None:
        reached, quick = asyncio.Event(), asyncio.Event()

        async def look(args: SampleArgs, context: ToolContext) -> ToolOutcome:
            if args.value == "quick":
                quick.set()
                return ToolOutcome.text("done")
            await quick.wait()
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

        calls = Calls(sample_tool("look", look, read_only=True))
        three = [call("look", {"value": value}) for value in ("slow", "quick", "slow")]
        await _interrupt(calls, reached, *three)
        assert calls.texts(*three) == [INTERRUPTED, "done", INTERRUPTED]

    asyncio.run(scenario())


def test_an_interruption_during_a_question_says_that_the_call_was_not_run() -> None:
    async def scenario() -> None:
        reached = asyncio.Event()

        async def never() -> ApprovalAnswer:
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

        calls = Calls(sample_tool("work"), policy=SamplePolicy({"work": ASK}), person=SamplePerson(never))
        one = call("work")
        await _interrupt(calls, reached, one)
        assert calls.texts(one) == [NOT_RUN]
        assert calls.of(ApprovalResolved) == [ApprovalResolved(one.id, "deny")]

    asyncio.run(scenario())


def test_calls_that_nobody_may_run_are_refused() -> None:
    calls = Calls(sample_tool("work"))
    two = [call("work"), call("unknown")]
    calls.runner.refuse(two, calls.conversation, calls.events.append)
    assert calls.texts(*two) == [OVER_LIMIT, OVER_LIMIT]


def test_a_tool_may_ask_the_person() -> None:
    given: list[object] = []

    async def work(args: SampleArgs, context: ToolContext) -> ToolOutcome:
        given.append(context.ask)
        return ToolOutcome.text("")

    person = SamplePerson()
    for one in (None, person):
        asyncio.run(Calls(sample_tool("work", work), person=one).run(call("work")))
    assert given == [None, person.answer]


def test_an_approval_comes_before_the_start() -> None:
    calls = Calls(
        sample_tool("work"), policy=SamplePolicy({"work": ASK}), person=SamplePerson(ApprovalAnswer("once"))
    )
    asyncio.run(calls.run(call("work")))
    assert [type(event).__name__ for event in calls.events] == [
        "ApprovalRequested", "ApprovalResolved", "ToolStarted", "ToolEnded", "MessageAdded",
    ]  # fmt: skip


def test_calls_of_one_answer_are_bounded_and_each_has_its_result() -> None:
    at_once, most = 0, 0

    async def work(args: object, context: ToolContext) -> ToolOutcome:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return ToolOutcome.text("read")

    calls = Calls(sample_tool("look", work, read_only=True))
    asyncio.run(calls.run(*(call("look") for _ in range(230))))
    texts = [text for _, text, _ in calls.results()]
    assert (texts.count("read"), len(texts)) == (200, 230)
    assert sum("200 calls at most" in text for text in texts) == 30
    assert 1 < most <= 8
