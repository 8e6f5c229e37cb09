"""Making room in a session's window: what is decided, what guards it, what the model is told afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mewcode.agent.preparing import MOST_CALLS
from mewcode.agent.rewind import points, rewind
from mewcode.agent.session import Session
from mewcode.context.summary import SECTIONS
from mewcode.core.errors import Overloaded, PromptTooLong
from mewcode.core.events import AgentEvent, Compacted, CompactionFailed, Notice
from mewcode.core.message import Message, Usage
from mewcode.core.stream import Done, StreamEvent, UsageReport
from mewcode.providers.base import ModelRequest
from tests.support.sample_session import hold, project_in, records, take_turn
from tests.support.scripted_provider import ANSWER_USAGE, Hold, ScriptedProvider, answer, call, failure

WORDS = "I think about it for a while, 我想了想。 " * 100
SUMMARY = "\n\n".join(f"## {heading}\nsaid of {heading}" for heading in SECTIONS)

Scenario = Callable[[Session], Awaitable[None]]


class Service(ScriptedProvider):
    """Answers questions without tools with ``summaries`` in turn, the last one for good, and turns as
    scripted, then with "done". A token has four characters."""

    def __init__(self, *answers: Any, summaries: tuple[Any, ...] = (answer(SUMMARY),)) -> None:
        super().__init__(*answers)
        self.summaries = list(summaries)
        self.asides: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        if request.tools:
            if not self.answers:
                self.answers.append(answer("done"))
            inner = super().stream(request)
        else:
            self.asides.append(request)
            script = self.summaries[0]
            if len(self.summaries) > 1:
                self.summaries.pop(0)
            inner = ScriptedProvider(script).stream(request)
        tokens = sum(len(message.text) for message in request.messages) // 4 + 6_000
        async for event in inner:
            if isinstance(event, UsageReport | Done) and event.usage == ANSWER_USAGE:
                event = msgspec.structs.replace(event, usage=Usage(tokens, 5))
            yield event


def window(tmp_path: Path, size: int, more: str = "") -> None:
    project_in(tmp_path)
    folder = tmp_path / "home" / ".mewcode"
    folder.mkdir(exist_ok=True)
    entry = f"{{context_window: {size}, max_output: 4000}}"
    (folder / "config.yaml").write_text(f"models: {{sample-model: {entry}, small: {entry}}}\n{more}")


async def talk(session: Session, turns: int = 6) -> None:
    for number in range(turns):
        await take_turn(session, f"prompt {number} {WORDS}")


def texts(messages: list[Message]) -> str:
    return "\n".join(message.text for message in messages)


def test_a_summary_on_demand(tmp_path: Path) -> None:
    provider = Service()
    window(tmp_path, 100_000)

    async def scenario(session: Session) -> None:
        await talk(session)
        before = session.context_tokens
        events: list[AgentEvent] = []
        report = await session.compact("mind the tests", events.append)
        assert isinstance(report, Compacted)
        assert events[-1] == report
        assert (report.trigger, report.by) == ("asked", "sample-model")
        assert report.after < before == report.before
        assert abs(session.context_tokens - report.after) < 0.1 * report.after
        assert session.agent.system
        head = session.agent.conversation.messages[0]
        assert head.origin == "compaction"
        assert "said of Forbidden" in head.text
        assert str(session.archive.folder / "conversation.jsonl") in head.text
        assert session.agent.conversation.turns == 6
        await take_turn(session, "go on")
        [marker] = [record for record in records(session) if record.get("type") == "compact"]
        assert marker["turns"] == 6
        assert marker["usage"]["models"].keys() == {"sample-model"}

    hold(tmp_path, provider, scenario)
    assert "mind the tests" in provider.asides[0].messages[0].text
    assert provider.asides[0].tools == ()


@pytest.mark.parametrize("turns", [0, 1])
def test_there_may_be_nothing_to_sum_up(tmp_path: Path, turns: int) -> None:
    async def scenario(session: Session) -> None:
        for _ in range(turns):
            await take_turn(session, "hi")
        report = await session.compact("", lambda event: None)
        assert isinstance(report, CompactionFailed)
        assert "nothing to sum up" in report.reason

    hold(tmp_path, Service(), scenario)


def test_it_is_for_the_time_between_turns(tmp_path: Path) -> None:
    waiting = Hold()

    async def scenario(session: Session) -> None:
        async with session.run("go") as run:
            await waiting.reached.wait()
            with pytest.raises(RuntimeError):
                await session.compact("", lambda event: None)
            waiting.release.set()
            async for _ in run:
                pass

    hold(tmp_path, Service([waiting, *answer("done")]), scenario)


def test_the_small_model_writes_it_and_the_own_one_where_that_fails(tmp_path: Path) -> None:
    provider = Service(summaries=(answer("no summary"), answer(SUMMARY)))
    window(tmp_path, 100_000, "small_model: small\n")

    async def scenario(session: Session) -> None:
        await talk(session)
        report = await session.compact("", lambda event: None)
        assert isinstance(report, Compacted)
        assert report.by == "sample-model"
        assert set(session.usage_by_model) == {"small", "sample-model"}
        assert report.usage.output_tokens == 10

    hold(tmp_path, provider, scenario)
    assert [request.model.name for request in provider.asides] == ["small", "sample-model"]


def test_two_that_free_little_stop_it(tmp_path: Path) -> None:
    window(tmp_path, 100_000)

    async def scenario(session: Session) -> None:
        keeper, said = session.keeper, []
        await talk(session, 2)
        little = Compacted("threshold", 51_000, 50_000, 3, by="sample-model")
        keeper._watch(little, said.append)
        assert not keeper.stopped
        keeper._watch(little, said.append)
        assert "less than a tenth" in keeper.stopped
        [notice] = said
        assert isinstance(notice, Notice)
        assert "/compact" in notice.hint
        keeper._watch(little, said.append)
        assert len(said) == 1
        await talk(session)
        assert isinstance(await keeper.compact(), Compacted)
        assert not keeper.stopped  # the user's own, which freed enough

    hold(tmp_path, Service(), scenario)


def test_what_was_prepared_is_void_after_a_rewind(tmp_path: Path) -> None:
    window(tmp_path, 40_000)
    provider = Service()

    async def scenario(session: Session) -> None:
        ahead = session.keeper.ahead
        number = 0
        while not ahead.calls:
            assert number < 50
            await take_turn(session, f"prompt {number} {WORDS}")
            number += 1
        conversation = session.agent.conversation
        assert await ahead.take(conversation) is not None
        assert ahead.is_ready(conversation)
        point = (await points(session))[1]
        await rewind(session, point.id, conversation=True, files=False)
        assert not ahead.is_ready(conversation)
        assert await ahead.take(conversation) is None

    hold(tmp_path, provider, scenario)


def test_what_is_prepared_is_bounded_and_counted(tmp_path: Path) -> None:
    """A model that cannot write one is not asked again and again."""
    window(tmp_path, 40_000)
    provider = Service(summaries=(answer("no summary"),))

    async def scenario(session: Session) -> None:
        keeper = session.keeper
        await talk(session, 3)
        conversation, size = session.agent.conversation, keeper.meter.sizer("sample-model")
        for _ in range(2 * MOST_CALLS):
            keeper.ahead.begin(conversation, lambda: conversation.messages, size, 500, worth=1)
            assert await keeper.ahead.take(conversation) is None
        assert len(provider.asides) == MOST_CALLS
        assert keeper.ahead.spent.output_tokens == 5 * MOST_CALLS
        assert session.usage_by_model["sample-model"].output_tokens == 5 * (MOST_CALLS + 3)
        session.clear()
        assert keeper.used > 0
        assert keeper.ahead.calls == 0

    hold(tmp_path, provider, scenario)


def test_a_cost_limit_counts_summaries(tmp_path: Path) -> None:
    window(tmp_path, 100_000)
    config = tmp_path / "home" / ".mewcode" / "config.yaml"
    config.write_text(
        "models: {sample-model: {context_window: 100000, max_output: 4000, price: {input: 1, output: 1}}}\n"
    )
    provider = Service(summaries=(answer(SUMMARY, usage=Usage(2_000_000, 0)),))

    async def scenario(session: Session) -> None:
        await talk(session)
        assert isinstance(await session.keeper.compact(), Compacted)
        assert session.agent.cost_usd > 2
        provider.answers.append(answer(call("todo", {"items": []})))
        _, result = await take_turn(session, "go on")
        assert result.stop == "budget"

    hold(tmp_path, provider, scenario, max_cost=1.0)


def test_instructions_of_a_folder_are_told_again(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    window(tmp_path, 100_000)
    for name in ("part/MEWCODE.md", "part/a.txt", "part/b.txt"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("In part, be careful.\n" if name.endswith("md") else "text\n")
    provider = Service(answer(call("read_file", {"path": "part/a.txt"})), answer("read"))

    async def scenario(session: Session) -> None:
        await take_turn(session, "look")
        assert "be careful" in texts(session.agent.conversation.messages)
        await talk(session)
        assert isinstance(await session.keeper.compact(), Compacted)
        assert "be careful" not in texts(session.agent.conversation.messages)
        provider.answers += [answer(call("read_file", {"path": "part/b.txt"})), answer("read")]
        await take_turn(session, "look again")
        assert texts(session.agent.conversation.messages).count("In part, be careful.") == 1

    hold(tmp_path, provider, scenario)


def test_files_that_were_changed_are_read_again(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    window(tmp_path, 100_000)
    names = [f"f{number}.py" for number in range(7)]
    writes = [answer(call("write_file", {"path": name, "content": f"# {name} first\n"})) for name in names]
    provider = Service(*writes, answer("written"))

    async def scenario(session: Session) -> None:
        await take_turn(session, "write")
        (project / "f6.py").write_text("# f6.py by somebody else\n")
        (project / "f5.py").unlink()
        (project / "f4.py").write_text("x = 1\n" * 20_000)
        await talk(session, 30)
        before = session.tools.session.reads.export()
        report = await session.keeper.compact()
        assert isinstance(report, Compacted)
        assert report.files == ("f6.py", "f4.py", "f3.py", "f2.py", "f1.py")
        told = texts(session.agent.conversation.messages)
        assert "# f6.py by somebody else" in told
        assert "more lines: read_file with offset shows them" in told
        after = session.tools.session.reads.export()
        assert after.keys() == before.keys()
        changed = {Path(path).name for path in after if after[path] != before[path]}
        assert changed == {"f6.py", "f4.py"}
        edits = [{"old_text": "somebody else", "new_text": "both"}]
        provider.answers += [answer(call("edit_file", {"path": "f6.py", "edits": edits})), answer("ok")]
        await take_turn(session, "edit it")
        assert (project / "f6.py").read_text() == "# f6.py by both\n"

    session = hold(tmp_path, provider, scenario, mode="accept-edits")

    async def resumed(again: Session) -> None:
        assert again.tools.session.reads.export() == session.tools.session.reads.export()

    hold(tmp_path, Service(), resumed, mode="accept-edits", continue_newest=True)


def test_plan_mode_is_told_again(tmp_path: Path) -> None:
    window(tmp_path, 100_000)

    async def scenario(session: Session) -> None:
        await talk(session)
        assert isinstance(await session.keeper.compact(), Compacted)
        assert "Plan mode is on" in texts(session.agent.conversation.messages)

    hold(tmp_path, Service(), scenario, mode="plan")


def test_a_full_window_in_the_middle_of_an_answer_makes_room_and_goes_on(tmp_path: Path) -> None:
    window(tmp_path, 100_000)
    provider = Service()

    async def scenario(session: Session) -> None:
        await talk(session)
        provider.answers += [answer("It is", stop="context_window"), answer("done after all")]
        events, result = await take_turn(session, "go on")
        assert (result.stop, result.text) == ("done", "done after all")
        [event] = [event for event in events if isinstance(event, Compacted)]
        assert event.trigger == "too_long"

    hold(tmp_path, provider, scenario)


def test_a_refusal_that_compaction_does_not_help_is_said_with_figures(tmp_path: Path) -> None:
    window(tmp_path, 100_000)
    too_long = PromptTooLong("prompt is too long", tokens=112_000, limit=90_000)
    provider = Service()

    async def scenario(session: Session) -> None:
        await talk(session)
        provider.answers += [failure(too_long), failure(too_long)]
        events, result = await take_turn(session, "go on")
        assert result.stop == "error"
        assert "system prompt and the tools" in result.error
        assert "/clear" in result.hint
        assert len([event for event in events if isinstance(event, Compacted)]) == 1

    hold(tmp_path, provider, scenario)
    assert len(provider.requests) == 8


def test_other_errors_of_a_summary_leave_all_as_it_was(tmp_path: Path) -> None:
    window(tmp_path, 100_000)
    busy = Overloaded("busy")
    busy.retryable = False
    provider = Service(summaries=(failure(busy),))

    async def scenario(session: Session) -> None:
        await talk(session)
        before = list(session.agent.conversation.messages)
        report = await session.keeper.compact()
        assert isinstance(report, CompactionFailed)
        assert report.reason == "busy"
        assert session.agent.conversation.messages == before

    hold(tmp_path, provider, scenario)


def test_what_fills_the_window_can_be_measured(tmp_path: Path) -> None:
    window(tmp_path, 100_000)

    async def scenario(session: Session) -> None:
        await talk(session, 2)
        parts = session.keeper.measure()
        assert abs(parts.used - session.context_tokens) <= 1
        names = {part.name for part in parts.parts}
        assert {"identity", "environment", "user"} <= names

    hold(tmp_path, Service(), scenario)


def test_stopping_it_between_turns_leaves_all_as_it_was(tmp_path: Path) -> None:
    waiting = Hold()
    provider = Service(summaries=([waiting, *answer(SUMMARY)],))
    window(tmp_path, 100_000)

    async def scenario(session: Session) -> None:
        await talk(session)
        before, events = list(session.agent.conversation.messages), []
        work = session.background.start("compact", session.compact("", events.append))
        await waiting.reached.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert isinstance(events[-1], CompactionFailed)
        assert events[-1].stopped
        assert session.agent.conversation.messages == before
        assert not session.agent.is_running

    hold(tmp_path, provider, scenario)
