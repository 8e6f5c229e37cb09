"""What the picker's filter finds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.picker_filter import Query, haystack, read_filter
from mewcode.repl.word_filter import Word, rate
from tests.support.session_source import entry


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query()),
        ("  fix  Parser ", Query(words=("fix", "Parser"))),
        ('"', Query(kind="phrase")),
        ('" "', Query(kind="phrase")),
        ('"two wor', Query(search='"two wor', kind="phrase")),
        ('"two  words" ', Query(search='"two words"', kind="phrase")),
        ("re:", Query(kind="pattern")),
        ("re:a|b c", Query(search="re:a|b c", kind="pattern")),
        ("错误", Query(words=("错误",))),
    ],
)
def test_reading_the_filter(text: str, query: Query) -> None:
    assert read_filter(text) == query


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_filter(text: str) -> None:
    query = read_filter(text)
    assert not (query.words and query.search)
    if query.kind == "phrase" and query.search:
        query.finder()


def _rate(text: str, title: str, **more: object) -> int | None:
    return rate(tuple(map(Word.of, text.split())), haystack(entry("20260102-030405-abcd", title, **more)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["parser", "prser", "fxpar", "the fix", "ftp", "Fix", "feature", "0304-ab", "解析", "x"],
)
def test_words_that_fit(text: str) -> None:
    assert _rate(text, "Fix the parser 解析器的错误", branch="feature/lexer") is not None


@pytest.mark.parametrize("text", ["lexicon", "parser zebra", "PARSER", "错对", "z", "rrr"])
def test_words_that_do_not(text: str) -> None:
    assert _rate(text, "Fix the parser 解析器的错误", branch="feature/lexer") is None


def test_letters_scattered_over_a_prompt_are_no_match() -> None:
    prompt = "please look at the build and tell me why so many tests are skipped there every night"
    assert _rate("parser", prompt) is None
    assert _rate("tests", prompt) is not None


def test_the_closer_fit_is_the_better_one() -> None:
    whole, initials = _rate("parse", "parse"), _rate("parse", "p a r s e of something")
    inside = _rate("parse", "reparsed")
    assert whole is not None
    assert initials is not None
    assert inside is not None
    assert whole > inside
    assert whole > initials


def test_the_match_is_found_in_a_snippet() -> None:
    found = read_filter('"Two words').finder().search("the two  WORDS here")
    assert found is not None
    both = read_filter('"two words" "at (once" more').finder().findall("More at (once, two words")
    assert both == ["More", "at (once", "two words"]
    assert found[0] == "two  WORDS"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=12), st.text(max_size=60))
def test_rating_never_fails_and_the_whole_title_fits(text: str, title: str) -> None:
    _rate(text, title)
    words = title.split()
    shown = haystack(entry("x", title)).texts[0].split()
    if words and shown == words and title == title.lower():
        assert all(_rate(word, title) is not None for word in words)
