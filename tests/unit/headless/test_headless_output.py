"""The three output formats: what goes to standard output, what to standard error."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.codec import clean_text
from mewcode.core.events import (
    AgentEvent,
    MessageAdded,
    Notice,
    RetryScheduled,
    RunResult,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from mewcode.core.message import Message, Text, Usage
from mewcode.core.outcome import ToolOutcome
from mewcode.core.stream import BlockDelta
from mewcode.headless.output import (
    JsonOutput,
    Output,
    SessionFacts,
    StreamJsonOutput,
    TextOutput,
    failure_object,
    make_output,
    result_object,
    write_line,
)

FACTS = SessionFacts(
    "20261130-120000-abcd", "a-model", "anthropic", "/srv/project", "default", ("bash", "grep")
)
KINDS = {"text": TextOutput, "json": JsonOutput, "stream-json": StreamJsonOutput}
ZERO = {"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def result(text: str = "The answer.", **fields: object) -> RunResult:
    settings = {
        "stop": "done", "steps": 2, "usage": Usage(10, 5), "cost_usd": 0.25, "duration_ms": 40, **fields,
    }  # fmt: skip
    return RunResult(text=text, **settings)


def play(kind: str, *events: AgentEvent, out: io.StringIO | None = None) -> tuple[str, str]:
    """What a run with these events writes: standard output, standard error."""
    out, err = out or io.StringIO(), io.StringIO()
    output: Output = StreamJsonOutput(out) if kind == "stream-json" else KINDS[kind](out, err)
    output.begin(FACTS)
    for event in events:
        output.event(event)
    output.end([event.result for event in events if isinstance(event, TurnEnded)])
    return out.getvalue(), err.getvalue()


# Text.


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("The answer.", "The answer.\n"),
        ("Ends in a newline.\n", "Ends in a newline.\n"),
        ("好的。\u2028x", "好的。\u2028x\n"),
        ("", ""),
        ("a lone surrogate \ud800", "a lone surrogate \ufffd\n"),
    ],
)
def test_text_is_the_answer_alone(text: str, written: str) -> None:
    events = (TurnStarted("x"), StepStarted(1), BlockDelta(0, "text", "half"), TurnEnded(result(text)))
    assert play("text", *events) == (written, "")


def test_text_to_a_terminal_goes_without_escape_sequences() -> None:
    text = "red \x1b[31mword\x1b[0m \x1b]0;title\x07"
    assert play("text", TurnEnded(result(text)), out=Terminal())[0] == "red word \n"
    assert play("text", TurnEnded(result(text)))[0] == text + "\n", "a file or a program gets what was said"


def test_text_tells_why_a_turn_failed() -> None:
    failed = result("", stop="error", error="the key was refused\x1b[2J", hint="Set it anew.", exit_code=1)
    assert play("text", TurnEnded(failed)) == ("", "mewcode: the key was refused\nSet it anew.\n")


def test_each_turn_of_text_is_written() -> None:
    assert play("text", TurnEnded(result("one")), TurnEnded(result("two")))[0] == "one\ntwo\n"


# What a person at standard error hears, in text and json; in stream-json it is among the events.


@pytest.mark.parametrize("kind", ["text", "json"])
def test_notices_and_retries_are_told(kind: str) -> None:
    events = (
        Notice("warning", "the disk is full\x1b[2J", "Free some space."),
        Notice("info", "plain"),
        RetryScheduled(2, 8, 1.6, "the service is overloaded"),
        TurnEnded(result()),
    )
    assert play(kind, *events)[1] == (
        "mewcode: the disk is full (Free some space.)\n"
        "mewcode: plain\n"
        "mewcode: the service is overloaded; attempt 2 of 8 in 2 s\n"
    )


def test_stream_json_keeps_standard_error_silent() -> None:
    out, err = play("stream-json", Notice("warning", "hm", "do"), TurnEnded(result()))
    assert err == ""
    assert json.loads(out.splitlines()[1]) == {
        "type": "notice",
        "level": "warning",
        "text": "hm",
        "hint": "do",
    }


# JSON.


def test_json_is_one_object_of_agreed_keys() -> None:
    out, err = play("json", TurnStarted("x"), TurnEnded(result()))
    assert (out.count("\n"), err) == (1, "")
    assert json.loads(out) == {
        "type": "result",
        "result": "The answer.",
        "is_error": False,
        "stop": "done",
        "error": "",
        "session_id": FACTS.session_id,
        "num_turns": 2,
        "usage": ZERO | {"input_tokens": 10, "output_tokens": 5},
        "total_cost_usd": 0.25,
        "duration_ms": 40,
    }


def test_json_over_several_turns() -> None:
    """The answer and the cost (the session's so far) are the last's; counts are summed."""
    value = result_object(
        [
            result("one", exit_code=1, stop="error", error="hm"),
            result("two", steps=3, usage=Usage(1, 2, 3, 4), cost_usd=None),
        ],
        "s",
    )
    assert (value["result"], value["is_error"], value["error"], value["stop"]) == ("two", True, "", "done")
    assert (value["num_turns"], value["duration_ms"], value["total_cost_usd"]) == (5, 80, None)
    assert value["usage"] == {
        "input_tokens": 11, "output_tokens": 7, "cache_read_tokens": 3, "cache_write_tokens": 4,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "stream-json"])
def test_the_object_is_there_when_nothing_came_of_it(kind: str) -> None:
    out, _ = play(kind)
    value = json.loads(out.splitlines()[-1])
    assert (value["is_error"], value["num_turns"], value["usage"]) == (True, 0, ZERO)
    assert value["error"] == "nothing was asked"


def test_the_object_of_a_run_that_never_began_has_the_same_keys() -> None:
    assert failure_object("no key").keys() == result_object([result()], "s").keys()
    assert failure_object("no key")["error"] == "no key"
    assert failure_object("no key")["is_error"] is True


# Stream JSON.


def test_stream_json_is_framed_by_init_and_result() -> None:
    message = Message("m", "assistant", (Text("hi"),), "model", "a-model", Usage(1, 2))
    events = (
        TurnStarted("s"),
        ToolStarted("c", "bash", "ls", {"command": "ls"}),
        ToolEnded("c", "bash", ToolOutcome.text("a\nb"), 0.5),
        MessageAdded(message),
        TurnEnded(result()),
    )
    lines = [json.loads(line) for line in play("stream-json", *events)[0].splitlines()]
    assert [line["type"] for line in lines] == [
        "init", "turn_start", "tool_start", "tool_end", "message", "result",
    ]  # fmt: skip
    assert lines[0] == {
        "type": "init",
        "session_id": FACTS.session_id,
        "model": "a-model",
        "provider": "anthropic",
        "cwd": "/srv/project",
        "permission_mode": "default",
        "tools": ["bash", "grep"],
    }
    assert lines[3]["outcome"]["content"] == [{"type": "text", "text": "a\nb"}]
    assert lines[4]["message"]["content"] == [{"type": "text", "text": "hi"}]
    assert lines[-1]["session_id"] == FACTS.session_id


def test_stream_json_ends_each_turn_with_its_own_result() -> None:
    out, _ = play("stream-json", TurnEnded(result("one")), TurnEnded(result("two", exit_code=1)))
    results = [json.loads(line) for line in out.splitlines()[1:]]
    assert [(value["result"], value["is_error"]) for value in results] == [("one", False), ("two", True)]


@given(st.text(st.characters(), max_size=60))
def test_whatever_is_said_an_object_is_one_line(text: str) -> None:
    for kind in ("json", "stream-json"):
        out, _ = play(kind, BlockDelta(0, "text", text), TurnEnded(result(text)))
        lines = out.removesuffix("\n").split("\n")
        assert len(lines) == (1 if kind == "json" else 3)
        assert json.loads(lines[-1])["result"] == clean_text(text)
        out.encode("utf-8")


def test_each_line_is_there_at_once() -> None:
    """A reader of a pipe sees an event when it happens."""

    class Pipe(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    pipe = Pipe()
    write_line(pipe, {"a": "ä"})
    assert (pipe.getvalue(), pipe.flushed) == ('{"a":"ä"}\n', 1)


def test_the_format_is_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    for name, kind in KINDS.items():
        output = make_output(name)
        assert type(output) is kind
        output.begin(FACTS)
    assert json.loads(capsys.readouterr().out)["type"] == "init"
