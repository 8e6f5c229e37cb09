"""A line that is edited on its own."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.line_edit import LineEdit


def test_typing_and_erasing() -> None:
    line = LineEdit("fix the")
    line.insert(" parser")
    assert line.text == "fix the parser"
    line.erase_word()
    assert line.text == "fix the "
    line.erase()
    assert (line.text, line.place) == ("fix the", 7)
    line.left()
    line.left()
    line.insert("X")
    assert line.text == "fix tXhe"
    line.clear()
    assert (line.text, line.place) == ("he", 0)
    line.right()
    line.end()
    line.insert("!")
    line.home()
    line.insert("s")
    assert line.text == "she!"


def test_a_character_of_several_code_points_goes_as_one() -> None:
    line = LineEdit("好👩‍👩‍👧")
    line.erase()
    assert line.text == "好"
    line.erase()
    line.erase()
    assert line.text == ""


def test_what_is_pasted_is_one_safe_line() -> None:
    line = LineEdit()
    line.insert("a\r\nb\tc\x1b[31m\x07d")
    assert line.text == "a b cd"


def test_it_takes_no_more_than_its_limit() -> None:
    line = LineEdit("abc", limit=5)
    line.insert("defg")
    assert line.text == "abcde"


_ACTS = (
    LineEdit.erase,
    LineEdit.erase_word,
    LineEdit.clear,
    LineEdit.left,
    LineEdit.right,
    LineEdit.home,
    LineEdit.end,
)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30), st.lists(st.sampled_from(_ACTS) | st.text(max_size=8), max_size=12))
def test_the_cursor_stays_in_the_text(text: str, acts: list[object]) -> None:
    line = LineEdit(text, limit=40)
    for act in acts:
        if isinstance(act, str):
            line.insert(act)
        else:
            act(line)  # type: ignore[operator]  # one of the methods above
        assert 0 <= line.place <= len(line.text) <= 40
