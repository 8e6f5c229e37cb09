"""Thinking between tags at the beginning of a text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.providers.inline_thinking import ThinkTagSplitter


def _split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkTagSplitter()
    parts = [part for piece in pieces for part in splitter.feed(piece)]
    parts += splitter.finish()
    order = [kind for kind, _ in parts]
    assert order == sorted(order, reverse=True)  # thinking, then text
    return tuple("".join(text for kind, text in parts if kind == wanted) for wanted in ("thinking", "text"))


@pytest.mark.parametrize(
    ("text", "thinking", "rest"),
    [
        ("<think>hm</think>Hello", "hm", "Hello"),
        ("\n<think>\nhm\n</think>\n\nHello", "\nhm\n", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>hm", "hm", ""),
        ("<think>a < b </thin", "a < b </thin", ""),
        ("<think>a</think>b</think>", "a", "b</think>"),
        ("Hello <think>no</think>", "", "Hello <think>no</think>"),
        ("<thinking>no", "", "<thinking>no"),
        ("<thi", "", "<thi"),
        ("  indented", "", "  indented"),
        ("", "", ""),
        ("  \n", "", ""),
    ],
)
def test_only_what_begins_with_the_tag_is_thinking(text: str, thinking: str, rest: str) -> None:
    assert _split(text) == (thinking, rest)
    assert _split(*text) == (thinking, rest)


def test_text_is_not_held_back_longer_than_needed() -> None:
    splitter = ThinkTagSplitter()
    assert list(splitter.feed("<thin")) == []
    assert list(splitter.feed("g")) == [("text", "<thing")]
    assert list(splitter.feed("<think>")) == [("text", "<think>")]


@settings(max_examples=300)
@given(
    st.text("<think>/ \nx", max_size=40).map(
        lambda text: text.replace("x", "</think>").replace("k/", "<think>")
    ),
    st.lists(st.integers(0, 100), max_size=8),
)
def test_cuts_make_no_difference(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    assert _split(*(text[a:b] for a, b in pairwise(places))) == _split(text)
