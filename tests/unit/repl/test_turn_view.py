"""A turn on the screen: each event's lines, once, and what is in progress."""

from __future__ import annotations

import pytest

from mewcode.core.errors import Overloaded
from mewcode.core.events import (
    ApprovalRequest,
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    Notice,
    RetryScheduled,
    RunResult,
    StepStarted,
    StreamWithdrawn,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
)
from mewcode.core.message import Message, Text, Thinking, ToolCall, Usage
from mewcode.core.outcome import DiffView, ToolOutcome
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart, UsageReport
from mewcode.repl.theme import THEMES
from mewcode.repl.turn_view import TurnView

VOID = "is void"


class Shown:
    """A view with its clock in hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.committed: list[str] = []
        self.view = TurnView(THEMES["no-color"], self.committed.append, lambda: 60, lambda: self.now)

    def take(self, *events) -> str:
        """What these events add to the scrollback."""
        before = len(self.committed)
        for event in events:
            self.view.handle(event)
        return "".join(self.committed[before:])

    def live(self, rows: int = 12) -> str:
        lines = self.view.live_lines(rows)
        assert len(lines) <= rows
        return "\n".join(lines)


def answer(text: str, index: int = 0) -> tuple:
    return (
        BlockStart(index, "text"),
        BlockDelta(index, "text", text),
        BlockEnd(index, Text(text)),
    )


def test_the_answer_that_is_coming_can_be_had_whole() -> None:
    shown = Shown()
    shown.take(StepStarted(1), *answer("First.\n\nMore"), BlockStart(1, "text"), BlockDelta(1, "text", "Sec"))
    assert shown.view.answer == "First.\n\nMore\n\nSec"
    shown.take(StreamWithdrawn("x"), BlockStart(0, "text"), BlockDelta(0, "text", "Anew"))
    assert shown.view.answer == "Anew"
    shown.take(MessageAdded(Message("m", "assistant", (Text("Anew"),))))
    assert shown.view.answer == "", "the conversation has it now"


def ended(stop, *, error: str = "", hint: str = "", code: int = 0) -> TurnEnded:
    return TurnEnded(RunResult("", stop, 1, Usage(), None, 5, error, hint, code))


def test_text_grows_below_and_is_committed_once() -> None:
    shown = Shown()
    assert shown.take(StepStarted(1), BlockStart(0, "text"), BlockDelta(0, "text", "one\n\ntw")) == "\none\n"
    assert "tw" in shown.live()
    assert "answering" in shown.live()
    assert shown.take(BlockDelta(0, "text", "o"), BlockEnd(0, Text("one\n\ntwo"))) == "\ntwo\n"
    assert "two" not in shown.live()


def test_thinking_shows_its_last_line_and_how_long_it_took() -> None:
    shown = Shown()
    shown.take(StepStarted(1), BlockStart(0, "thinking"), BlockDelta(0, "thinking", "first\nthe cause is"))
    assert "✻ the cause is" in shown.live()
    assert "first" not in shown.live()
    shown.now = 75.0
    assert "thought for 1 min 15 s" in shown.take(BlockEnd(0, Thinking("first\nthe cause is")))


def test_a_call_is_seen_while_it_is_written_and_while_it_runs() -> None:
    shown = Shown()
    shown.take(
        StepStarted(1), BlockStart(0, "tool_call", "c1", "bash"), BlockDelta(0, "tool_call", "{" * 1200)
    )
    assert "writing bash (1,200 characters)" in shown.live()
    call = ToolCall("c1", "bash", {"command": "make"})
    assert shown.take(BlockEnd(0, call), ToolStarted("c1", "bash", "make")) == ""
    shown.take(ToolProgress("c1", "half a li"), ToolProgress("c1", "ne\nand more"))
    assert "half a line" in shown.live()
    assert "bash(make)" in shown.live()
    card = shown.take(ToolEnded("c1", "bash", ToolOutcome.text("ok"), 0.1))
    assert card.count("bash(make)") == 1
    assert "make" not in shown.live()


def test_an_approved_change_is_not_shown_twice() -> None:
    change = DiffView("a.py", "x = 1\n", "x = 2\n")
    outcome = ToolOutcome.text("Edited.", change)
    asked, unasked = Shown(), Shown()
    asked.take(ApprovalRequested(ApprovalRequest("c1", "edit_file", "a.py", "", view=change)))
    assert "waiting for you" in asked.live()
    asked.take(ApprovalResolved("c1", "once"))
    assert "waiting for you" not in asked.live()
    run = (ToolStarted("c1", "edit_file", "a.py"), ToolEnded("c1", "edit_file", outcome))
    assert "x = 2" not in asked.take(*run)
    assert "x = 2" in unasked.take(*run)


def test_a_wait_counts_down_and_ends_with_the_next_answer() -> None:
    shown = Shown()
    shown.take(StepStarted(1), RetryScheduled(2, 8, 30.0, Overloaded("the service is busy").message))
    shown.now = 10.0
    assert "attempt 2 of 8 in 20 s: the service is busy" in shown.live()
    shown.now = 31.0
    assert "in 0 s" in shown.live()
    shown.take(BlockStart(0, "text"))
    assert "attempt" not in shown.live()


def test_withdrawn_text_is_called_void() -> None:
    shown = Shown()
    shown.take(StepStarted(1), BlockStart(0, "text"), BlockDelta(0, "text", "half\n\nof"))
    assert VOID in shown.take(StreamWithdrawn("broke off"))
    assert "of" not in shown.live().split("\n")
    assert shown.take(*answer("whole")) == "\nwhole\n"


def test_what_is_withdrawn_unseen_is_not_mentioned() -> None:
    shown = Shown()
    shown.take(StepStarted(1), BlockStart(0, "thinking"), BlockDelta(0, "thinking", "hm"))
    assert shown.take(StreamWithdrawn("broke off")) == ""


def test_a_note_breaks_between_words_and_stays_indented() -> None:
    shown = Shown()
    shown.view.note("warn", "left out damaged records (line 1: not UTF-8; line 2: not UTF-8)", "word " * 13)
    said, *more, last = "".join(shown.committed).strip("\n").split("\n")
    assert said == "● left out damaged records (line 1: not UTF-8; line 2: not"
    assert (*more, last) == ("  UTF-8)", "  " + "word " * 10 + "word", "  word word")
    path = "/a/folder" * 10
    shown.view.note("plain", f"written: {path}", "read it")
    assert shown.committed[-1].strip("\n").split("\n") == [f"● written: {path}", "  read it"]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (ended("interrupted", code=130), "interrupted; what came is kept"),
        (ended("denied"), "denied; tell MewCode"),
        (ended("error", error="no key", hint="Set one.", code=1), "no key\n  Set one."),
        (ended("limit", error="the limit of 3 steps is reached"), "the limit of 3 steps"),
        (Notice("warning", "a word\nand another", "do this"), "a word\n  and another\n  do this"),
    ],
)
def test_how_it_ended_is_said(event, words: str) -> None:
    assert words in Shown().take(StepStarted(1), event)


def test_a_good_end_says_nothing_and_keeps_text_that_was_open() -> None:
    shown = Shown()
    shown.take(
        StepStarted(1), UsageReport(Usage(10, 1234)), BlockStart(0, "text"), BlockDelta(0, "text", "so far")
    )
    assert "1,234 tokens" in shown.live()
    assert shown.take(ended("done")) == "\nso far\n"


def test_stopping_is_seen_at_once() -> None:
    shown = Shown()
    shown.view.interrupted = True
    assert "stopping" in shown.live()


@pytest.mark.parametrize("rows", [3, 4, 8])
def test_it_keeps_to_its_rows(rows: int) -> None:
    shown = Shown()
    for number in range(5):
        shown.take(ToolStarted(f"c{number}", "bash", "x" * 200), ToolProgress(f"c{number}", "y\n" * 50))
    assert "running" in shown.live(rows).split("\n")[-1]


def test_nothing_that_a_terminal_obeys_gets_through() -> None:
    shown = Shown()
    text = "\x1b]0;title\x07 red \x1b[31m"
    out = shown.take(
        StepStarted(1),
        *answer(f"{text}\n"),
        ToolStarted("c1", f"ba{text}sh", text),
        ToolEnded("c1", f"ba{text}sh", ToolOutcome.text(text)),
        Notice("error", text, text),
        ended("error", error=text, hint=text, code=1),
    )
    shown.take(RetryScheduled(2, 8, 1.0, text))
    assert "\x1b" not in out + shown.live()
    assert "title" not in out + shown.live()


def test_notes_that_were_recalled_are_one_quiet_line() -> None:
    notes = [{"name": f"Note {number}\x1b[2J"} for number in range(5)]
    message = Message("m", "user", (Text("all of it"),), "recall", provider_meta={"notes": notes})
    shown = Shown().take(MessageAdded(message))
    assert shown.strip() == "● recalled: Note 0, Note 1, Note 2 (+2)"


def test_output_without_an_end_of_line_is_kept_by_its_end() -> None:
    shown = Shown()
    shown.take(ToolStarted("c", "bash", "yes", {}), *(ToolProgress("c", "y" * 8000) for _ in range(50)))
    shown.take(ToolProgress("c", "z"))
    assert [len(line) for line in shown.view._tools["c"].tail] == [2000]
    assert shown.view._tools["c"].tail[-1].endswith("yz")
