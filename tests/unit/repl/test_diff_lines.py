"""Differences by lines and by words: right, and in bounded time."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.diff_lines import changed_words, changes, count_changed, diff_lines, text_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "unique 1", "unique 2", "}"]), max_size=25)


@settings(max_examples=300)
@given(LINES, LINES)
def test_the_changes_turn_one_text_into_the_other(before, after):
    result, at = [], 0
    for change in changes(before, after):
        assert change.old[0] >= at
        result += before[at : change.old[0]] + after[slice(*change.new)]
        at = change.old[1]
    assert result + before[at:] == after


@settings(max_examples=200)
@given(LINES, LINES)
def test_the_diff_shows_each_change_once_with_its_numbers(before, after):
    found = changes(before, after)
    rows = list(diff_lines(before, after, found))
    added, removed = count_changed(found)
    assert sum(row.kind == "added" for row in rows) == added
    assert sum(row.kind == "removed" for row in rows) == removed
    for row in rows:
        if row.old is not None:
            assert before[row.old - 1] == row.text
        if row.new is not None:
            assert after[row.new - 1] == row.text
    old = [row.old for row in rows if row.old]
    assert old == sorted(set(old))


def test_context_and_gaps():
    before = [str(number) for number in range(30)]
    after = [*before[:5], "new", *before[5:20], *before[21:]]
    rows = [(row.kind[0] + row.text) for row in diff_lines(before, after, changes(before, after))]
    assert rows == [
        *("s2", "s3", "s4", "anew", "s5", "s6", "s7"),
        "s",
        *("s17", "s18", "s19", "r20", "s21", "s22", "s23"),
    ]


def test_lines_of_a_text():
    assert text_lines("") == []
    assert text_lines("a\n") == ["a"]
    assert text_lines("a\n\n") == ["a", ""]
    assert text_lines("a\u2028b\x0cc") == ["a\u2028b\x0cc"]


def test_words():
    before, after = "x = foo(1, 二三)", "x = bar(1, 二四)"
    old, new = changed_words(before, after)
    assert [before[slice(*part)] for part in old] == ["foo", "三"]
    assert [after[slice(*part)] for part in new] == ["bar", "四"]
    assert changed_words("one thing", "quite another") == ((), ())
    assert changed_words("a" * 1000, "a" * 999 + "b") == ((), ())


def test_large_and_repetitive_texts_end():
    # What difflib alone would work at for minutes.
    chance = random.Random(1)
    texts = [
        ([chance.choice("ab") for _ in range(20_000)], [chance.choice("ab") for _ in range(20_000)]),
        ([f"line {n}" for n in range(50_000)], [f"line {n}" for n in range(50_000) if n % 10]),
        ([str(chance.random()) for _ in range(50_000)], [str(chance.random()) for _ in range(50_000)]),
        (
            ["x = " + "a, " * 150 + str(n) for n in range(2000)],
            ["x = " + "b, " * 150 + str(n) for n in range(2000)],
        ),
    ]
    for before, after in texts:
        assert list(diff_lines(before, after, changes(before, after)))
