"""A run without a terminal: turns, the exit code, and input or output that fails."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mewcode.core.errors import BadRequest, Overloaded, UsageError
from mewcode.core.events import AgentEvent, RunResult, TurnEnded
from mewcode.core.stream import BlockDelta
from mewcode.headless.output import SessionFacts, StreamJsonOutput
from mewcode.headless.run import run_headless
from mewcode.infra import collector
from tests.support.sample_agent import sample_agent
from tests.support.scripted_provider import Hold, ScriptedProvider, answer, failure

FACTS = SessionFacts("sample", "m", "p", "/", "default", ())


class Recorder:
    """`Output` that keeps what it is given."""

    def __init__(self) -> None:
        self.facts: list[SessionFacts] = []
        self.events: list[AgentEvent] = []
        self.ends: list[list[RunResult]] = []

    def begin(self, facts: SessionFacts) -> None:
        self.facts.append(facts)

    def event(self, event: AgentEvent) -> None:
        self.events.append(event)

    def end(self, results: list[RunResult]) -> None:
        self.ends.append(list(results))


async def said(*prompts: str | Exception) -> AsyncIterator[str]:
    for prompt in prompts:
        if isinstance(prompt, Exception):
            raise prompt
        yield prompt


def run(provider: ScriptedProvider, *prompts: str | Exception, output: Any = None) -> tuple[int, Recorder]:
    recorder = output or Recorder()
    code = asyncio.run(run_headless(sample_agent(provider), said(*prompts), recorder, FACTS))
    return code, recorder


def test_turns_one_after_the_other() -> None:
    provider = ScriptedProvider(answer("one"), answer("two"))
    code, output = run(provider, "first", "second")
    assert code == 0
    assert output.facts == [FACTS]
    [results] = output.ends
    assert [result.text for result in results] == ["one", "two"]
    assert len(provider.requests[1].messages) == 3


@pytest.mark.parametrize(("error", "code"), [(BadRequest("no"), 1), (Overloaded("busy", retry_after=0), 75)])
def test_the_exit_code_is_the_first_failures(error: Exception, code: int) -> None:
    failures = [failure(error)] * (4 if code == 75 else 1)
    got, output = run(ScriptedProvider(*failures, answer("fine")), "first", "second")
    assert got == code
    assert [result.exit_code for result in output.ends[0]] == [code, 0]


def test_a_prompt_that_cannot_be_read_is_a_turn_that_failed() -> None:
    provider = ScriptedProvider(answer("one"))
    code, output = run(provider, "first", UsageError("line 2 is no JSON", "Write JSON."), "third")
    assert code == 2
    [results] = output.ends
    assert [(result.stop, result.error, result.hint) for result in results] == [
        ("done", "", ""), ("error", "line 2 is no JSON", "Write JSON."),
    ]  # fmt: skip
    assert results[1].is_error


def test_stream_json_has_one_result_for_a_bad_first_line() -> None:
    out = io.StringIO()
    code, _ = run(ScriptedProvider(), UsageError("bad"), output=StreamJsonOutput(out))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["type"] for line in lines] == ["init", "result"]
    assert (lines[1]["error"], lines[1]["session_id"], code) == ("bad", "sample", 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_turn_and_no_other_begins(number: int) -> None:
    hold = Hold()
    items = answer("half whole")
    items.insert(2, hold)
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    class Stopping(Recorder):
        def event(self, event: AgentEvent) -> None:
            super().event(event)
            if isinstance(event, BlockDelta):
                os.kill(os.getpid(), number)

    provider = ScriptedProvider(items, answer("never"))
    code, output = run(provider, "first", "second", output=Stopping())
    assert code == 130
    assert [(result.stop, result.text) for result in output.ends[0]] == [("interrupted", "half ")]
    assert len(provider.requests) == 1
    assert {each: signal.getsignal(each) for each in handlers} == handlers, "handlers are given back"


def test_a_signal_ends_the_wait_for_a_prompt() -> None:
    async def prompts() -> AsyncIterator[str]:
        yield "first"
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    output = Recorder()
    agent = sample_agent(ScriptedProvider(answer("one")))
    assert asyncio.run(run_headless(agent, prompts(), output, FACTS)) == 130
    assert [(result.stop, result.text) for result in output.ends[0]] == [("done", "one")]


def test_a_signal_at_the_very_end_of_a_turn_is_not_lost() -> None:
    """Where the next prompt is there already, its turn has begun by then, and is the one that is stopped."""

    class Late(Recorder):
        def event(self, event: AgentEvent) -> None:
            super().event(event)
            if isinstance(event, TurnEnded):
                os.kill(os.getpid(), signal.SIGINT)

    provider = ScriptedProvider(answer("one"), answer("never"))
    code, output = run(provider, "first", "second", output=Late())
    assert code == 130
    assert [(result.text, result.stop) for result in output.ends[0]][:2] in (
        [("one", "done")],
        [("one", "done"), ("", "interrupted")],
    )


def test_being_cancelled_from_elsewhere_is_no_signal() -> None:
    async def prompts() -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield "never"

    async def scenario() -> None:
        output = Recorder()
        task = asyncio.ensure_future(run_headless(sample_agent(ScriptedProvider()), prompts(), output, FACTS))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert output.ends == [[]]

    asyncio.run(scenario())


def test_a_reader_that_is_gone_ends_the_run() -> None:
    class Broken(Recorder):
        def event(self, event: AgentEvent) -> None:
            raise BrokenPipeError

    provider = ScriptedProvider(answer("one"))
    output = Broken()
    with pytest.raises(BrokenPipeError):
        run(provider, "first", output=output)
    assert output.ends == [[]]


def test_garbage_is_collected_again_when_the_first_request_is_on_its_way() -> None:
    collector.pause()
    try:
        run(ScriptedProvider(answer("one")), "first")
        assert gc.isenabled()
    finally:
        collector.start_done()
        gc.unfreeze()
