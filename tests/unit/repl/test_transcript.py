"""The transcript: all of a conversation as lines, and the pages they are read in."""

from __future__ import annotations

import asyncio
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from mewcode.repl.cell_width import cell_width
from mewcode.repl.pager import Pager
from mewcode.repl.pages import Pages
from mewcode.repl.theme import THEMES
from mewcode.repl.transcript import newest_first

PLAIN = THEMES["no-color"]
EDIT = {"path": "a.py", "edits": [{"old_text": "x = 1", "new_text": "x = 2"}]}
MESSAGES = (
    Message("1", "user", (Text("fix 你好 " + "word " * 60), Image("image/png", "")), "user"),
    Message("2", "user", (Text("be brief"),), "reminder"),
    Message(
        "3",
        "assistant",
        (
            Thinking("a thought\nof two lines"),
            Text("I will **look**."),
            ToolCall("c1", "bash", {"command": "ls\x1b[31m"}),
            ToolCall("c2", "edit_file", EDIT),
        ),
        "model",
    ),
    Message("4", "tool", (ToolResult("c1", (Text("".join(f"row {n}\n" for n in range(100))),)),), "tool"),
    Message("5", "tool", (ToolResult("c2", (Text("no such file"),), is_error=True),), "tool"),
)


def lines_of(width: int) -> list[str]:
    parts = list(newest_first(MESSAGES, PLAIN, width))
    return [line for part in reversed(parts) for line in part]


def test_everything_is_there_unfolded_and_in_order() -> None:
    text = "\n".join(lines_of(80))
    words = (
        "❯ fix", "[image", "be brief", "a thought", "I will look.", "command: ls", "x = 2", "row 0", "row 99",
        "edit_file failed", "no such file",
    )  # fmt: skip
    places = [text.index(word) for word in words]
    assert places == sorted(places)
    assert len(re.findall(r"row \d+", text)) == 100
    assert "\x1b" not in text


@settings(max_examples=30, deadline=None)
@given(width=st.integers(20, 120))
def test_no_line_is_wider_than_asked_for(width: int) -> None:
    assert all(cell_width(line) <= width for line in lines_of(width))


def pages(count: int, rows: int) -> Pages:
    made = Pages(lambda: rows)
    made.lines = [f"line {number}" for number in range(count)][::-1]
    return made


def test_pages_move_and_hold_at_their_ends() -> None:
    made = pages(100, 10)
    assert made.shown() == [f"line {number}" for number in range(90, 100)]
    made.page(1)
    assert made.shown()[-1] == "line 90"
    made.top()
    made.move(5)
    assert made.shown()[0] == "line 0"
    made.bottom()
    made.move(-5)
    assert made.shown()[-1] == "line 99"


def test_older_lines_that_come_in_move_nothing() -> None:
    made = pages(50, 10)
    made.page(1)
    before = made.shown()
    made.lines += ["older"] * 100
    assert made.shown() == before


def test_search_goes_up_and_round() -> None:
    made = pages(100, 10)
    assert made.search("line 5")
    assert "line 59" in made.shown()
    assert made.again(up=True)
    assert "line 58" in made.shown()
    assert made.again(up=False)
    assert "line 59" in made.shown()
    assert made.again(up=False)
    assert "line 5" in made.shown()
    assert not made.search("LINE 5")
    assert not made.search("nowhere (")
    made.lines = []
    assert not made.again(up=True)
    assert not made.again(up=False)


@settings(max_examples=100, deadline=None)
@given(
    count=st.integers(0, 40),
    rows=st.integers(1, 12),
    moves=st.lists(st.integers(-50, 50), max_size=6),
    pattern=st.sampled_from(["1", "line 3", "x", "9"]),
)
def test_pages_show_neighbours_whatever_is_done(
    count: int, rows: int, moves: list[int], pattern: str
) -> None:
    made = pages(count, rows)
    for move in moves:
        made.move(move)
        found = made.search(pattern)
        assert found == any(pattern in line for line in made.lines)
        shown = made.shown()
        assert len(shown) == min(rows, count)
        assert not found or any(pattern in line for line in shown)
        assert (
            shown
            == [f"line {number}" for number in range(count)][count - made.below - len(shown) :][: len(shown)]
        )


def test_the_pager_reads_its_keys_and_leaves(tmp_path) -> None:
    async def look(keys: str) -> list[str]:
        with create_pipe_input() as given, (tmp_path / "out").open("w", encoding="utf-8") as out:
            output = Vt100_Output(out, lambda: Size(12, 60), term="xterm", enable_cpr=False)
            focus: list[bool] = []
            pager = Pager(MESSAGES, PLAIN, given, output, lambda: "news", lambda *, here: focus.append(here))
            given.send_text(keys)
            await asyncio.wait_for(pager.run(), 10)
            return pager.pages.shown()

    asyncio.run(look("q"))
    asyncio.run(look("\x1b[I\x1b"))
    asyncio.run(look("/row 5\x7f4\rnNgG q"))
    assert "news" in (tmp_path / "out").read_text(encoding="utf-8")
