"""Reads and searches of one step in one card."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.repl.cell_width import cell_width
from mewcode.repl.theme import THEMES
from mewcode.repl.tool_groups import Ended, ToolGroup, group_card, is_grouped

PLAIN = THEMES["no-color"]
NAMES = ("read_file", "list_dir", "glob", "grep")


def call(name: str, summary: str, *, error: bool = False, seconds: float = 0.0) -> Ended:
    outcome = ToolOutcome.text("no such file" if error else "text", None if error else TextView("12 lines"))
    return Ended(name, summary, ToolOutcome(outcome.content, outcome.view, error), seconds)


def test_what_was_done_is_counted_and_named() -> None:
    calls = [call("read_file", "a.py"), call("grep", "x"), call("read_file", "b.py"), call("list_dir", ".")]
    assert group_card(calls, PLAIN, 60) == (
        "● read 2 files, searched once, listed 1 folder\n"
        "  └ a.py · 12 lines\n    grep x · 12 lines\n    b.py · 12 lines\n    . · 12 lines\n"
    )


def test_a_failure_comes_first_and_time_is_shown_where_it_was_long() -> None:
    calls = [call("read_file", f"{n}.py") for n in range(12)] + [call("glob", "*", error=True, seconds=3.21)]
    lines = group_card(calls, PLAIN, 60).splitlines()
    assert lines[0] == "● read 12 files, searched once · 3.2 s"
    assert lines[1] == "  └ glob * · no such file"
    assert lines[-1] == "    … 5 more lines"


def test_one_call_has_its_own_card_and_none_has_none() -> None:
    group = ToolGroup()
    assert group.take(PLAIN, 60) == ""
    group.add(call("read_file", "a.py"))
    assert group.card(PLAIN, 60).startswith("● read_file(a.py)")
    assert group.take(PLAIN, 60).startswith("● read_file(a.py)")
    assert group.take(PLAIN, 60) == ""


def test_only_what_looks_around_is_grouped() -> None:
    assert all(map(is_grouped, NAMES))
    assert not any(map(is_grouped, ("bash", "edit_file", "write_file", "web_fetch", "")))


@settings(max_examples=100, deadline=None)
@given(
    calls=st.lists(
        st.builds(call, st.sampled_from(NAMES), st.text(max_size=80), error=st.booleans()),
        min_size=1,
        max_size=15,
    ),
    width=st.integers(8, 90),
)
def test_no_line_is_wider_than_the_screen(calls: list[Ended], width: int) -> None:
    card = group_card(calls, PLAIN, width)
    assert "\x1b" not in card
    lines = card.splitlines()
    assert all(cell_width(line) <= width for line in lines)
    assert len(lines) <= 11
