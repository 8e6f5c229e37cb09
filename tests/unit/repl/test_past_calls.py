"""Calls of an earlier run as cards: changes of files, commands, lists, and whatever a file may hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Message, Text, ToolCall, ToolResult
from mewcode.core.outcome import CommandView
from mewcode.repl.past_calls import past_card, past_outcome
from mewcode.repl.replay import replay
from mewcode.repl.theme import THEMES
from mewcode.tools.bash import _outcome
from mewcode.tools.shell_session import Finished

PLAIN = THEMES["no-color"]


def card(name: str, args: dict[str, Any], told: str, *, is_error: bool = False, summary: str = "") -> str:
    result = ToolResult("c", (Text(told),), is_error)
    return past_card(ToolCall("c", name, args), summary, result, PLAIN, 60)


EDIT = {"old_text": "one\ntwo\n", "new_text": "one\n二\n"}


def test_an_edit_shows_its_change_where_it_was_made() -> None:
    shown = card("edit_file", {"path": "a.py", "edits": [EDIT]}, "Edited a.py: line 12.", summary="a.py")
    assert shown.split("\n") == [
        "● edit_file(a.py)", "  └ +1 -1", "    12 12  one", "    13    -two", "       13 +二", "",
    ]  # fmt: skip


def test_several_edits_stand_one_below_the_other() -> None:
    edits = [EDIT, {"old_text": "x", "new_text": "", "replace_all": True}]
    told = "Edited line 9.py: edit 1 at line 3; edit 2 at lines 140, 150 and 2 more."
    shown = card("edit_file", {"path": "line 9.py", "edits": edits}, told)
    assert "  └ +1 -2\n" in shown
    assert "    3 3  one\n    4   -two\n      4 +二\n    ⋮\n    140     -x\n" in shown


def test_a_long_change_is_cut_and_one_that_is_huge_not_drawn() -> None:
    edits = [{"old_text": "", "new_text": f"{number}\n" * 30} for number in range(3)]
    shown = card("edit_file", {"path": "a", "edits": edits}, "Edited a: line 1.")
    assert "└ +90 -0" in shown
    assert len(shown.split("\n")) < 50
    huge = [{"old_text": "x" * 60_000, "new_text": "y" * 60_000}]
    shown = card("edit_file", {"path": "a", "edits": huge}, "Edited a: line 1.")
    assert shown == "● edit_file\n  └ Edited a: line 1.\n"


def test_a_file_that_was_made_and_one_that_was_replaced() -> None:
    args = {"path": "a", "content": "x\ny\n"}
    assert card("write_file", args, "Created a: 2 lines, 4 bytes.") == (
        "● write_file\n  └ created, 2 lines\n    1 +x\n    2 +y\n"
    )
    assert card("write_file", args, "Replaced a: 2 lines, 4 bytes.") == (
        "● write_file\n  └ Replaced a: 2 lines, 4 bytes.\n"
    )


def test_what_failed_says_why() -> None:
    shown = card("edit_file", {"path": "a", "edits": [EDIT]}, "a was not read.", is_error=True)
    assert shown == "● edit_file\n  └ a was not read.\n"


def test_a_list_is_a_list() -> None:
    items = [{"text": "one", "status": "done"}, {"text": "two"}]
    assert card("todo", {"items": items}, "The list is updated") == (
        "● todo\n  └ 1 of 2 done\n    ☒ one\n    ☐ two\n"
    )
    assert "The list is updated" in card("todo", {"items": 3}, "The list is updated")


def test_a_command_shows_the_beginning_and_the_end_of_its_output() -> None:
    told = "".join(f"line {number}\n" for number in range(40)) + "exit code 2\nThe shell now stands in /x."
    shown = card("bash", {"command": "make"}, told, summary="make")
    assert shown.startswith("● bash(make)\n  └ exit 2 · 40 lines · The shell now stands in /x.\n    line 0\n")
    assert shown.endswith("    line 38\n    line 39\n")
    assert len(shown.split("\n")) == 12


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200), st.integers(-15, 255), st.booleans(), st.lists(st.just("Moved."), max_size=3))
def test_a_commands_end_is_read_as_it_was_told(text: str, code: int, late: bool, notes: list[str]) -> None:
    """The card says what the live one did, but for notes of a command that went well."""
    live = _outcome("make", text, Finished(code, timed_out=late, left=0, stray=False), notes)
    again = past_outcome(
        ToolCall("c", "bash", {"command": "make"}), ToolResult("c", live.content, live.is_error)
    )
    assert isinstance(live.view, CommandView)
    assert isinstance(again.view, CommandView)
    if code and not late:
        assert again.view.exit_code == live.view.exit_code
        assert again.view.output == (text.removesuffix("\n") if text.strip() else "")
        assert again.view.note == live.view.note


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(("path", "edits", "content", "command", "items", "background", "old_text"))


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(("edit_file", "write_file", "bash", "todo", "read_file", "x\x1b[2J")),
    st.dictionaries(_NAMES, _VALUES, max_size=4),
    st.text(max_size=80),
    st.booleans(),
)
def test_whatever_a_record_holds_it_is_drawn(
    name: str, args: dict[str, Any], told: str, is_error: bool
) -> None:
    call = ToolCall("c", name, args)
    messages = (
        Message("u", "user", (Text("go"),)),
        Message("a", "assistant", (call,), "model"),
        Message("t", "tool", (ToolResult("c", (Text(told),), is_error),), "tool"),
    )
    assert "\x1b" not in replay(messages, PLAIN, 60)


@pytest.mark.parametrize("count", [1, 3])
def test_calls_that_look_around_are_gathered_as_they_were(count: int) -> None:
    calls = [ToolCall(f"c{number}", "read_file", {"path": f"{number}.py"}) for number in range(count)]
    messages = (
        Message("u", "user", (Text("go"),)),
        Message("a", "assistant", tuple(calls), "model"),
        *(Message(f"t{call.id}", "tool", (ToolResult(call.id, (Text("x\ny"),)),), "tool") for call in calls),
        Message("b", "assistant", (Text("Seen."),), "model"),
    )
    shown = replay(messages, PLAIN, 60)
    assert ("● read_file(0.py)\n  └ 2 lines" if count == 1 else "● read 3 files") in shown
    assert shown.index("0.py") < shown.index("Seen.")
