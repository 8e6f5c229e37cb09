"""The plain front end: answers by whole lines, tools in one, questions by number."""

from __future__ import annotations

import asyncio
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.events import (
    ApprovalRequest,
    Notice,
    Question,
    RetryScheduled,
    RunResult,
    StreamWithdrawn,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from mewcode.core.message import Text, Usage
from mewcode.core.outcome import CommandView, DiffView, ToolOutcome
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart
from mewcode.repl.panel import Option
from mewcode.repl.plain_person import Lines, PlainPerson
from mewcode.repl.plain_turn import PlainTurn


def taken(*events) -> list[str]:
    written: list[str] = []
    view = PlainTurn(written.append)
    for event in events:
        view.handle(event)
    return written


@settings(max_examples=100, deadline=None)
@given(pieces=st.lists(st.text("ab\n你 ", max_size=5), max_size=8))
def test_text_is_written_by_whole_lines(pieces: list[str]) -> None:
    deltas = [BlockDelta(0, "text", piece) for piece in pieces]
    written = taken(BlockStart(0, "text"), *deltas, BlockEnd(0, Text("")))
    assert all(text.endswith("\n") for text in written)
    text = "".join(pieces)
    assert "".join(written) == (text if not text or text.endswith("\n") else text + "\n")


def test_no_escape_sequence_gets_through() -> None:
    written = "".join(
        taken(
            BlockDelta(0, "text", "a\x1b[3"),
            BlockDelta(0, "text", "1mred\x1b]0;x\x07\n"),
            ToolStarted("c", "bash", "ls\x1b[2J"),
            ToolEnded("c", "bash", ToolOutcome.text("x", CommandView("ls", "out\x1b[2J\n", 0))),
            Notice("warning", "care\x1b[1m", "do\x1b[1m this"),
            RetryScheduled(2, 8, 3.0, "busy\x1b[1m"),
            StreamWithdrawn("x"),
        )
    )
    assert "\x1b" not in written
    assert "ared\n" in written
    assert "bash ls: 1 line\nout\n" in written
    assert "care\ndo this\n" in written
    assert "attempt 2 of 8 in 3 s: busy" in written


def test_a_change_is_shown_and_a_failure_named() -> None:
    edit = ToolOutcome.text("ok", DiffView("a.py", "x = 1\n", "x = 2\n"))
    failed = ToolOutcome.text("no such file", is_error=True)
    written = "".join(
        taken(
            ToolStarted("c", "edit_file", "a.py"),
            ToolEnded("c", "edit_file", edit),
            ToolStarted("d", "read_file", "b.py"),
            ToolEnded("d", "read_file", failed),
        )
    )
    assert "x = 2" in written
    assert "read_file b.py: error: no such file\n" in written


@pytest.mark.parametrize(
    ("stop", "error", "code", "said"),
    [
        ("interrupted", "", 130, "interrupted; what came is kept"),
        ("denied", "", 0, "denied; tell MewCode"),
        ("error", "it broke", 1, "error: it broke"),
        ("done", "", 0, ""),
    ],
)
def test_how_a_turn_ended(stop, error: str, code: int, said: str) -> None:
    written = "".join(
        taken(TurnEnded(RunResult("", stop, 1, Usage(), None, 5, error, "hint" * bool(error), code)))
    )
    assert written.startswith(said)
    assert ("hint" in written) == bool(error)


def person(typed: str) -> tuple[PlainPerson, list[str]]:
    written: list[str] = []
    return PlainPerson(Lines(io.StringIO(typed)), written.append), written


def test_an_approval_is_a_number() -> None:
    request = ApprovalRequest("c", "bash", "ls", "it runs a command", "bash(ls *)", CommandView("ls -l"))

    async def answer(typed: str) -> tuple[str, str, bool]:
        asked, _ = person(typed)
        given = await asked.approve(request)
        return given.choice, given.reason, given.stop

    assert asyncio.run(answer("1\n")) == ("once", "", False)
    assert asyncio.run(answer("x\n0\n99\n3\n")) == ("project", "", False)
    assert asyncio.run(answer("5\nkeep it\n")) == ("deny", "keep it", False)
    assert asyncio.run(answer("\n")) == ("deny", "", True)
    assert asyncio.run(answer("")) == ("deny", "", True)


def test_a_question_takes_a_choice_or_own_words() -> None:
    question = Question("Which?", (("SQLite", "a file"), ("Postgres", "a server")))

    async def answer(typed: str) -> str | None:
        asked, written = person(typed)
        given = await asked.answer(question)
        assert "2. Postgres: a server\n" in "".join(written)
        return given

    assert asyncio.run(answer("2\n")) == "Postgres"
    assert asyncio.run(answer("3\nneither\n")) == "neither"
    assert asyncio.run(answer("\n")) is None


def test_a_choice_of_nothing() -> None:
    async def choose() -> str | None:
        return await person("1\n")[0].choose("which?", (Option("v", "label"),))

    assert asyncio.run(choose()) == "v"
