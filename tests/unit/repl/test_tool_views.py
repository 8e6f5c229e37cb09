"""Cards of tool calls, diffs, approvals and the user's messages, as text and within their width."""

from __future__ import annotations

import re

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.outcome import CommandView, DiffView, TextView, TodoItem, TodoView, ToolOutcome
from mewcode.repl.cell_width import cell_width
from mewcode.repl.theme import THEMES
from mewcode.repl.tool_views import approval_view, diff_view, running_card, tool_card, user_block

PLAIN = THEMES["no-color"]
DARK = THEMES["dark"]
_SGR = re.compile(r"\x1b\[[0-9;]*m")


def card(view, *, content="", is_error=False, seconds=0.0, width=40, name="bash", summary="ls"):
    outcome = ToolOutcome.text(content, view, is_error=is_error)
    return tool_card(name, summary, outcome, seconds, PLAIN, width).splitlines()


def test_a_short_note():
    assert card(TextView("120 lines"), name="read_file", summary="a.py") == [
        "● read_file(a.py)",
        "  └ 120 lines",
    ]


def test_time_is_shown_when_it_took_long():
    assert card(TextView("ok"), seconds=0.9)[1] == "  └ ok"
    assert card(TextView("ok"), seconds=1.25)[1] == "  └ ok · 1.2 s"
    assert card(TextView("ok"), seconds=75)[1] == "  └ ok · 1 min 15 s"
    assert card(TextView("ok"), seconds=7300)[1] == "  └ ok · 2 h 1 min"


def test_a_command_shows_head_and_tail_of_its_output():
    output = "\n".join(f"line {number}" for number in range(128)) + "\n"
    assert card(CommandView("ls", output, 2)) == [
        "● bash(ls)",
        "  └ exit 2 · 128 lines",
        *(f"    line {number}" for number in range(3)),
        "    … 120 more lines",
        *(f"    line {number}" for number in range(123, 128)),
    ]
    assert card(CommandView("ls", "", 0))[1:] == ["  └ no output"]
    assert card(CommandView("ls", "one\n", 0, "a note"))[1:] == ["  └ 1 line · a note", "    one"]
    assert len(card(CommandView("ls", "\n" * 3 + "x\n" * 6, 0))) == 2 + 9


def test_an_error_shows_its_words_and_a_call_without_a_view_its_size():
    assert card(None, content="No such file\nLook at a.py", is_error=True)[1:] == [
        "  └ No such file",
        "    Look at a.py",
    ]
    assert card(None, content="")[1:] == ["  └ done"]
    assert card(None, content="", is_error=True)[1:] == ["  └ failed"]
    assert card(None, content="a\nb\nc")[1:] == ["  └ 3 lines"]
    red = tool_card("x", "", ToolOutcome.text("", is_error=True), 0, DARK, 40)
    assert red.startswith(DARK.paint("error", "●"))


def test_a_long_summary_is_cut_within_its_brackets():
    assert card(TextView("x"), summary="echo 中文中文中文中文", width=20)[0] == "● bash(echo 中文中…)"
    assert card(TextView("x"), summary="a\nb\x1b[31m c")[0] == "● bash(a b c)"


def test_todos():
    items = (TodoItem("a", "done"), TodoItem("b", "in_progress"), TodoItem("c", "pending"), TodoItem("d"))
    assert card(TodoView(items), name="todo", summary="")[1:] == [
        "  └ 1 of 4 done",
        "    ☒ a",
        "    ◐ b",
        "    ☐ c",
        "    ☐ d",
    ]


BEFORE = "".join(f"line {number} = foo({number})\n" for number in range(1, 16))


def test_a_diff_with_numbers_signs_and_context():
    after = BEFORE.replace("foo(5)", "bar(5)").replace("line 6 = foo(6)\n", "")
    assert diff_view(DiffView("src/a.py", BEFORE, after), PLAIN, 40).splitlines() == [
        "src/a.py  +1 -2",
        " 2  2  line 2 = foo(2)",
        " 3  3  line 3 = foo(3)",
        " 4  4  line 4 = foo(4)",
        " 5    -line 5 = foo(5)",
        " 6    -line 6 = foo(6)",
        "    5 +line 5 = bar(5)",
        " 7  6  line 7 = foo(7)",
        " 8  7  line 8 = foo(8)",
        " 9  8  line 9 = foo(9)",
    ]


def test_a_diff_marks_changed_words_tabs_or_not():
    view = DiffView("a", "\tx = foo(1)\n", "\tx = bar(1)\n")
    out = diff_view(view, DARK, 60)
    opening = f"\x1b[{DARK.styles['removed']};{DARK.styles['removed_word']}m"
    assert f"{opening}foo\x1b[0m" in out
    assert "    x = " in out


def test_long_diffs_fold_and_created_files_show_their_first_lines():
    view = DiffView("a.py", "", BEFORE, created=True)
    assert diff_view(view, PLAIN, 40, 2).splitlines() == [
        "a.py  created, 15 lines",
        " 1 +line 1 = foo(1)",
        " 2 +line 2 = foo(2)",
        "… 13 more lines",
    ]
    assert card(view)[1] == "  └ created, 15 lines"
    assert len(card(view)) == 2 + 10 + 1
    assert diff_view(DiffView("a", "x\n", "y\n"), PLAIN, 40, 1).splitlines()[1:] == [
        "1   -x",
        "… 1 more line",
    ]
    assert diff_view(DiffView("a", "x", "x"), PLAIN, 40) == "a  no change\n"
    assert diff_view(DiffView("a", "x", "x\n"), PLAIN, 40) == "a  newline at the end changed\n"


def test_an_approval_hides_nothing():
    view = CommandView("echo \x1b[8m" + "x" * 30 + "\u202e\rls\n\trm  -rf y")
    out = approval_view(view, PLAIN, 20)
    assert "".join(out.splitlines()).replace(" ", "") == ("echo\\x1b[8m" + "x" * 30 + "\\u202e\\rlsrm-rfy")
    diff = DiffView("a.py", "a\n", "b" * 100 + "\n")
    assert approval_view(diff, PLAIN, 40).count("b") == 100


def test_an_approval_says_what_it_leaves_out():
    long = CommandView("\n".join(f"echo {number}" for number in range(500)))
    lines = approval_view(long, PLAIN, 40).splitlines()
    assert len(lines) == 201
    assert lines[-1] == "… 300 more lines"
    unseen = CommandView("echo" + "\u0301" * 20_000 + "; rm -rf y")
    assert approval_view(unseen, PLAIN, 40).splitlines()[-1] == "… 1 more line"
    wide = DiffView("a", "", "a" + "\u0301" * 20_000 + "b\n")
    assert "…" in approval_view(wide, PLAIN, 40)


def test_a_running_call():
    lines = running_card("bash", "make", 3.2, ["a", "b\tc", *"defgh"], PLAIN, 30)
    assert lines == ["● bash(make)", "  └ running 3 s", *(f"    {char}" for char in "defgh")]
    assert running_card("bash", "make", 0.2, [], PLAIN, 30)[1] == "  └ running"


def test_the_users_message():
    assert user_block("hello 中文\n\n  code", PLAIN, 40) == "❯ hello 中文\n\n    code\n"
    folded = user_block("\n".join(f"l{number}" for number in range(5000)), PLAIN, 40).splitlines()
    assert folded[0] == "❯ l0"
    assert folded[-2:] == ["  l11", "  … 4,988 more lines"]
    assert user_block("", PLAIN, 40) == "❯ \n"
    assert "\x1b" not in user_block("a\x1b[31mb\x1b]0;x\x07", PLAIN, 40)


ANY = st.text(
    st.one_of(
        st.sampled_from("ab \n\t中文，é\u0301\u200d👨🇩❤\ufe0f\x1b[]m\r\x08\u202e"),
        st.characters(blacklist_categories=("Cs",)),
    ),
    max_size=60,
)


@st.composite
def views(draw):
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return TextView(draw(ANY), draw(ANY))
    if kind == 1:
        return DiffView(draw(ANY), draw(ANY), draw(ANY), draw(st.booleans()))
    if kind == 2:
        return CommandView(draw(ANY), draw(ANY), draw(st.sampled_from([None, 0, 1])), draw(ANY))
    if kind == 3:
        return TodoView((TodoItem(draw(ANY), draw(st.sampled_from(["done", "pending", "odd"]))),))
    return None


@settings(max_examples=200, deadline=None)
@given(views(), ANY, st.integers(8, 60), st.sampled_from([PLAIN, DARK]))
def test_no_line_is_wider_than_asked_nor_obeyed_by_a_terminal(view, text, width, theme):
    outcome = ToolOutcome.text(text, view, is_error=len(text) % 2 == 0)
    outs = [
        tool_card(text, text, outcome, len(text), theme, width),
        "\n".join(running_card(text, text, 2, text.split("\n"), theme, width)),
        user_block(text, theme, width),
    ]
    if view is not None:
        outs.append(approval_view(view, theme, width))
    if isinstance(view, DiffView):
        outs.append(diff_view(view, theme, width))
    for out in outs:
        visible = _SGR.sub("", out)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", visible)
        assert all(cell_width(line) <= width for line in visible.split("\n"))


def test_a_terminal_shows_a_card_as_meant():
    screen = pyte.Screen(30, 8)
    view = DiffView("a.py", "x = 1\ny = 中文\n", "x = 2\ny = 中文\n")
    out = tool_card("edit_file", "a.py", ToolOutcome.text("", view), 0, DARK, 30)
    pyte.Stream(screen).feed(out.replace("\n", "\r\n"))
    assert [line.rstrip() for line in screen.display[:5]] == [
        "● edit_file(a.py)",
        "  └ +1 -1",
        "    1   -x = 1",
        "      1 +x = 2",
        "    2 2  y = 中文",
    ]


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_a_tiny_terminal_breaks_nothing(width):
    assert tool_card("bash", "ls", ToolOutcome.text("x", CommandView("ls", "a\nb", 0)), 2, PLAIN, width)
    assert user_block("hello world", PLAIN, width)
