"""Exact replacement: what is not named keeps every character."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mewcode.core.errors import ToolError
from mewcode.tools.text_edit import Replacement, replace_text
from mewcode.tools.text_file import plain_newlines


def edit(text, old, new, everywhere=False):
    return replace_text(text, Replacement(old, new, everywhere))[0]


def test_a_plain_edit_names_its_line():
    assert replace_text("a\nb\nc\n", Replacement("b", "B")) == ("a\nB\nc\n", [2])


def test_new_line_ends_are_those_of_the_place():
    assert edit("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb") == "a\r\nx\r\nb\r\nc\r\n"
    assert edit("a\r\nb\r\nc\r\n", "b", "b1\nb2") == "a\r\nb1\r\nb2\r\nc\r\n"


def test_mixed_endings_stay_where_they_are():
    assert edit("a\r\nb\nc\r\n", "a\nb\nc", "A\nb\nC") == "A\r\nb\nC\r\n"
    assert edit("a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "a\nb\nnew\nc\nd\n") == "a\r\nb\nnew\nc\r\nd\n"
    assert edit("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nc\nd") == "a\r\nc\r\nd\n"
    # Within a line that ends in \n, of a file that mostly has \r\n.
    assert edit("a\r\nb\r\nc\nd\r\n", "c", "c\nc2") == "a\r\nb\r\nc\nc2\nd\r\n"


def test_a_file_of_carriage_returns_alone():
    assert edit("a\rb\rc", "a\nb", "a\nx\nb") == "a\rx\rb\rc"


def test_a_lone_carriage_return_is_text():
    assert edit("one\rtwo\nthree\n", "one\rtwo", "one\rTWO") == "one\rTWO\nthree\n"
    assert edit("a\r\r\nb\n", "a\r\r\n", "A\r\r\n") == "A\r\r\nb\n"


def test_explicit_crlf_is_taken_as_it_is():
    assert edit("a\nb\r\nc\n", "b\r\n", "B\r\n") == "a\nB\r\nc\n"
    # Both places look the same to the model: with \n alone it is not unique.
    with pytest.raises(ToolError, match="lines 1, 3"):
        edit("x\ny\nx\r\ny\r\n", "x\ny", "z")


def test_replace_all():
    text, lines = replace_text("a b a\na\n", Replacement("a", "cc", True))
    assert (text, lines) == ("cc b cc\ncc\n", [1, 1, 2])
    assert edit("aaa", "a", "aa", everywhere=True) == "aaaaaa"


def test_not_unique_names_the_lines():
    with pytest.raises(ToolError, match=r"at 2 places: lines 1, 3"):
        edit("x\ny\nx\n", "x", "z")
    with pytest.raises(ToolError, match="more than 10 places"):
        edit("x\n" * 50, "x", "z")


def test_overlapping_places_are_not_unique():
    with pytest.raises(ToolError, match="at 2 places: line 1"):
        edit("aaa", "aa", "b")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("", "x", "empty"), ("a", "a", "same"), ("a\n", "a\r\n", "line endings alone")],
)
def test_edits_that_make_no_sense(old, new, words):
    with pytest.raises(ToolError, match=words):
        edit("a\nb\n", old, new)


endings = st.sampled_from(["\n", "\r\n"])
words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6)
mixed_text = st.lists(st.tuples(words, endings), max_size=8).map(lambda ls: "".join(a + b for a, b in ls))


@settings(max_examples=150)
@given(before=mixed_text, target=mixed_text, after=mixed_text, new=st.text("ab\n é", max_size=12))
def test_what_stands_around_is_untouched(before, target, after, new):
    old = plain_newlines(target)
    text = before + target + after
    assume(old and old != new and plain_newlines(text).count(old) == 1)
    # A place that overlaps itself is refused.
    assume(plain_newlines(text).find(old, plain_newlines(text).find(old) + 1) < 0)
    result = edit(text, old, new)
    assert result.startswith(before)
    assert result.endswith(after)
    middle = result[len(before) : len(result) - len(after)]
    assert plain_newlines(middle + "\n") == new + "\n" or "\r" not in text


@settings(max_examples=100)
@given(
    lines=st.lists(st.tuples(st.text("xyz", min_size=1, max_size=3), endings), min_size=1, max_size=8),
    data=st.data(),
)
def test_lines_kept_by_an_edit_keep_their_endings(lines, data):
    """One line of a block is changed; the block was named whole."""
    at = data.draw(st.integers(0, len(lines) - 1))
    text = "".join(word + ending for word, ending in lines)
    changed = [(f"{word}!" if i == at else word, ending) for i, (word, ending) in enumerate(lines)]
    expected = "".join(word + ending for word, ending in changed)
    assert edit(text, plain_newlines(text), plain_newlines(expected)) == expected
