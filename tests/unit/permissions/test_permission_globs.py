"""Wildcards against a plain definition of what they mean."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.permissions.globs import escape_segment, segment_glob, word_glob


@given(st.text("ab*/.", max_size=8), st.text("ab*/.", max_size=8))
@settings(max_examples=500)
def test_word_globs_agree_with_a_regular_expression(pattern: str, text: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL)
    assert word_glob((char, True) for char in pattern).matches(text) == bool(expected)


@given(st.text(max_size=20).filter(lambda text: "/" not in text))
def test_an_escaped_part_matches_itself_alone(text: str) -> None:
    glob = segment_glob(escape_segment(text))
    assert glob.literal == text
    assert glob.matches(text)
    assert not glob.matches(text + "x")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a.pyc", "py"]),
        ("?", ["a", "你"], ["", "ab"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "x"]),
        ("[!a-c]x", ["dx"], ["ax"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("\\*", ["*"], ["a"]),
        ("a**b", ["ab", "axxb"], ["a"]),
    ],
)
def test_parts_of_paths(pattern: str, yes: list[str], no: list[str]) -> None:
    glob = segment_glob(pattern)
    assert all(glob.matches(text) for text in yes)
    assert not any(glob.matches(text) for text in no)


def test_many_wildcards_do_not_explode() -> None:
    assert not word_glob([*zip("*a" * 300, [True, False] * 300, strict=True)]).matches("a" * 5000 + "b" * 10)


def test_folding_ignores_letter_case() -> None:
    assert segment_glob("[A-Z]b*").matches("aBxyz", str.casefold)
