"""A text that was not found: the nearest lines are named, never taken."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import ToolError
from mewcode.tools.near_miss import explain_miss
from mewcode.tools.text_edit import Replacement, replace_text

FILE = "import os\n\n\ndef main():\n\tname = 'x'\n\tprint(name)\n\n\ndef other():\n    return “quoted”\n"


def miss(old, text=FILE):
    with pytest.raises(ToolError) as caught:
        replace_text(text, Replacement(old, "new"))
    return caught.value.message


def test_white_space():
    said = miss("def main():\n    name = 'x'")
    assert "lines 4-5 (differs in white space only): line 5 is `\\tname = 'x'`" in said
    assert "old_text has `    name = 'x'`" in said


def test_quotes_and_composed_characters():
    assert "line 10 (differs in the form of characters)" in miss('return "quoted"')
    assert "\\u201cquoted" in miss('return "quoted"')
    said = miss(unicodedata.normalize("NFD", "café = 1"), "a\ncafé = 1\n")
    assert "line 2 (differs in the form of characters)" in said
    assert "`cafe\\u0301 = 1`" in said


def test_similar_lines():
    said = miss("def man():\n\tname = 'y'")
    assert "- lines 4-5 (differs): line 4 is `def main():`, old_text has `def man():`" in said


def test_at_most_three_places():
    assert miss("value  =  1", "value = 1\n" * 9).count("\n- ") == 3


def test_line_numbers_from_read_file():
    said = miss("     4\tdef main():\n     5\t\tname = 'x'")
    assert "line numbers" in said
    assert "Without them it is there" in said
    assert "not there either" in miss("     4\tdef nothing():")


def test_nothing_similar_and_a_very_long_file():
    assert "Nothing similar" in miss("zzzzzzzzzzzz")
    assert "grep" in miss("absent", "x\n" * 600_000)


def test_the_message_is_bounded():
    assert len(miss("a" * 100_000 + "b", "a" * 100_000 + "\n")) < 2000


@settings(max_examples=100, deadline=None)
@given(text=st.text("ab \t\n'’é", max_size=60), old=st.text("ab \t\n'’é", min_size=1, max_size=12))
def test_any_miss_is_explained(text, old):
    assert explain_miss(text, old).startswith("old_text was not found")
