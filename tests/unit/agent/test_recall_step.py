"""What a step of a turn brings up."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.agent.recall_step import StepQuestions, step_questions
from mewcode.core.message import Message, Origin, Text, ToolCall, ToolResult

ROOT = Path("/srv/app")


def calls(*named: tuple[str, dict[str, object]]) -> Message:
    made = tuple(ToolCall(f"c{number}", name, args) for number, (name, args) in enumerate(named))
    return Message("a", "assistant", made, "model")


def result(text: str, *, is_error: bool = False) -> Message:
    return Message("t", "tool", (ToolResult("c0", (Text(text),), is_error),), "tool")


def said(text: str, origin: Origin = "user") -> Message:
    return Message("u", "user", (Text(text),), origin)


def asked(*messages: Message) -> StepQuestions:
    return step_questions(messages, ROOT, ROOT / "web")


def test_files_are_named_from_the_top_of_the_work_tree() -> None:
    found = asked(
        calls(
            ("read_file", {"path": "a.py"}),
            ("edit_file", {"path": "/srv/app/lib/b.py", "edits": []}),
            ("write_file", {"path": "/etc/hosts", "content": ""}),
            ("bash", {"command": "cat c.py", "path": "c.py"}),
            ("read_file", {"path": 3}),
            ("read_file", {"path": "a\0b"}),
        )
    )
    assert found == StepQuestions(("web/a.py", "lib/b.py", "/etc/hosts"))


@pytest.mark.parametrize(
    "message",
    [
        result("Traceback\n  line\nKeyError: 'port'\nexit code 1"),
        result("KeyError: 'port'", is_error=True),
    ],
)
def test_lines_that_say_what_went_wrong(message: Message) -> None:
    assert asked(message).texts == ("KeyError: 'port'",)


def test_a_file_that_speaks_of_errors_is_none() -> None:
    assert not asked(result("raise KeyError: 'port'\nexit code 0"))


def test_long_output_is_looked_at_from_its_end() -> None:
    lines = [f"error: number {number} of many" for number in range(5_000)]
    found = asked(result("\n".join([*lines, "exit code 2"])))
    assert found.texts == tuple(lines[-3:])


def test_what_the_user_says_meanwhile_counts_and_reminders_do_not() -> None:
    found = asked(said("use the test database"), said("the mode is plan", "reminder"), said("x", "recall"))
    assert found.texts == ("use the test database",)


def test_nothing_is_asked_twice_and_nothing_that_says_nothing() -> None:
    found = StepQuestions(("a.py", "b.py"), ("ok", "the test database", "KeyError: port"))
    assert found.without({"a.py", "the test database"}) == StepQuestions(("b.py",), ("KeyError: port",))
    assert not StepQuestions()
