"""The whole of the picker, as lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.cell_width import cell_width
from mewcode.repl.frame import Frame, list_width
from mewcode.repl.line_edit import LineEdit
from mewcode.repl.picker_filter import read_filter
from mewcode.repl.picker_list import ShownHit, key_of
from mewcode.repl.picker_view import Mode, PickerView
from mewcode.repl.theme import THEMES, ThemeName
from tests.support.session_source import entry

SCOPES = ("this folder", "this repository", "everywhere")
SGR = re.compile(r"\x1b\[[0-9;]*m")


def view(*titles: str, theme: ThemeName = "no-color", current: str | None = None) -> PickerView:
    made = PickerView(THEMES[theme], SCOPES, current, clock=lambda: 1000.0)
    made.sessions.take(
        [entry(f"s{number}", title, updated=900.0 - number) for number, title in enumerate(titles)]
    )
    apply(made)
    return made


def apply(made: PickerView) -> None:
    for _ in made.sessions.steps():
        pass


def lines(frame: Frame) -> list[str]:
    return [SGR.sub("", line).rstrip() for line in frame.lines]


class Shown:
    def __init__(self, *shown: str) -> None:
        self._shown = list(shown)

    def shown(self) -> list[str]:
        return self._shown


def test_at_80_columns_it_is_all_there() -> None:
    shown = lines(view("Fix it", "解析器的错误").frame(79, 24))
    assert len(shown) == 24
    assert shown[0] == "resume which session?  this folder · newest first · 2"
    assert shown[1].startswith("❯ type to filter")
    assert shown[2].split() == ["title", "age", "msgs", "size"]
    assert shown[3].startswith("❯     Fix it")
    assert shown[4].startswith("      解析器的错误")
    assert shown[-2] == "/work · s0"
    assert shown[-1] == "enter opens · → shows it · ^R names · ^P pins · ^D trash · tab where · ^S sorts"


def test_the_headline_says_where_how_and_how_many() -> None:
    made = view("one", "two", "three")
    made.scope, made.reading = 1, True
    made.sessions.use(read_filter("t"))
    apply(made)
    assert lines(made.frame(100, 24))[0].endswith("  this repository · best match first · 2 of 3 · reading…")
    made.sessions.next_sort()
    made.searching = True
    made.news = lambda: "a question waits for you"
    head = lines(made.frame(120, 24))[0]
    assert head.endswith("  a question waits for you · this repository · by size · searching…")


def test_the_cursor_is_where_one_types() -> None:
    made = view("one")
    made.filter = LineEdit("解析")
    assert made.frame(79, 24).cursor == (6, 1)
    made.filter = LineEdit("x" * 100)
    frame = made.frame(79, 24)
    assert frame.cursor == (78, 1)
    assert lines(frame)[1] == "❯ " + "x" * 76
    made.mode, made.title = "rename", LineEdit("新名")
    made.title.left()
    frame = made.frame(79, 24)
    assert frame.cursor == (8, 3)
    assert lines(frame)[3] == "❯     新名"
    made.mode = "confirm"
    frame = made.frame(79, 24)
    assert frame.cursor is None
    assert lines(frame)[-2] == "move to the trash? (y/n) one"


def test_hits_stand_under_their_session() -> None:
    made = view("one", "two")
    hits = tuple(ShownHit(turn, f"the word {turn}", ((4, 8),)) for turn in (4, 5, 6))
    made.sessions.hits = {key_of(made.sessions.shown[1]): hits}
    made.sessions.use(read_filter('"word'))
    apply(made)
    shown = lines(made.frame(79, 24))
    assert shown[3].startswith("❯     two")
    assert [line.strip() for line in shown[4:7]] == ["4 the word 4", "5 the word 5", ""]
    assert shown[-2] == "1 more hits · /work · s1"


def test_an_empty_list_says_what_to_do() -> None:
    made = view()
    assert [line.strip() for line in lines(made.frame(79, 24))[4:6]] == [
        "no sessions here",
        "Tab looks in this repository",
    ]
    made.scope = 1
    assert lines(made.frame(79, 24))[5].strip() == "Tab looks everywhere"
    made.scope = 2
    assert [line.strip() for line in lines(made.frame(79, 24))[4:6]] == ["no sessions anywhere", ""]
    made.reading = True
    assert lines(made.frame(79, 24))[4] == ""
    made = view("one")
    made.sessions.use(read_filter("zebra"))
    apply(made)
    assert lines(made.frame(79, 24))[4].strip() == "nothing matches"


def test_marks_are_told_in_words() -> None:
    made = view("one", "two", current="s0")
    made.holders[key_of(made.sessions.shown[1])] = (4242, 900.0)
    shown = lines(made.frame(79, 24))
    assert shown[3].startswith("   ▸  one")
    assert shown[4].startswith("❯  ●  two")
    assert shown[-2].startswith("● open in another window (process 4242, since ")
    made.sessions.move(-1)
    assert lines(made.frame(79, 24))[-2].startswith("this session · ")


@pytest.mark.parametrize(("width", "left"), [(79, 0), (139, 0), (140, 70), (199, 99)])
def test_the_preview_stands_beside_a_wide_list(width: int, left: int) -> None:
    made = view("one")
    made.mode, made.preview_title, made.preview = "preview", "one", Shown("first", "second")
    shown = lines(made.frame(width, 24))
    assert list_width(width) == left
    if not left:
        assert shown[:3] == ["one", "first", "second"]
        assert shown[-1].startswith("arrows, page up")
    else:
        assert all(line[left : left + 1] == "│" for line in shown)
        assert shown[0].startswith("resume which session?")
        assert shown[1].endswith("│ first")
    made.preview, made.preview_note = None, "reading…"
    assert "reading…" in "\n".join(lines(made.frame(width, 24)))


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 230),
    st.integers(1, 60),
    st.sampled_from(["list", "rename", "confirm", "preview"]),
    st.lists(st.text(max_size=60), max_size=40),
    st.text(max_size=80),
    st.sampled_from(sorted(THEMES)),
    st.integers(0, 40),
)
def test_at_any_size_a_frame_fills_the_screen_and_no_more(
    width: int, height: int, mode: Mode, titles: list[str], typed: str, theme: ThemeName, move: int
) -> None:
    made = view(*titles, theme=theme)
    made.mode, made.title, made.message = mode, LineEdit(typed), typed
    made.filter.insert(typed)
    made.sessions.move(move)
    if mode == "preview":
        made.preview, made.preview_title = Shown("x"), "title"
    frame = made.frame(width, height)
    assert len(frame.lines) == max(3, height)
    for line in frame.lines:
        assert cell_width(SGR.sub("", line)) <= max(10, width)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", SGR.sub("", line))
    if frame.cursor is not None:
        column, row = frame.cursor
        assert 0 <= column < max(10, width)
        assert 0 <= row < max(3, height)
