"""Which words of the user's ask for a note, correct, confirm, or ask to forget."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.extract import phrases
from mewcode.memory.extract.own_words import own_words
from mewcode.memory.extract.triggers import asks_to_forget, asks_to_note, is_correction

WORDS = Path(__file__).with_name("extract_words")
"""A message a line."""


def messages(name: str) -> list[str]:
    return (WORDS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", messages("note"))
def test_these_words_ask_for_a_note(text: str) -> None:
    assert asks_to_note(text)


@pytest.mark.parametrize("text", messages("no_note"))
def test_these_words_ask_for_no_note(text: str) -> None:
    assert not asks_to_note(text)


@pytest.mark.parametrize("text", messages("correction"))
def test_these_words_correct_or_confirm(text: str) -> None:
    assert is_correction(text)


@pytest.mark.parametrize("text", messages("no_correction"))
def test_these_words_correct_nothing(text: str) -> None:
    assert not is_correction(text)


@pytest.mark.parametrize("text", messages("forget"))
def test_these_words_ask_to_forget(text: str) -> None:
    assert asks_to_forget(text)


@pytest.mark.parametrize("text", messages("no_forget"))
def test_these_words_forget_nothing(text: str) -> None:
    assert not asks_to_forget(text)


def test_the_tables_are_as_large_as_they_have_to_be() -> None:
    for name, least in (("note", 60), ("no_note", 80), ("correction", 60), ("no_correction", 80)):
        assert len(set(messages(name))) == len(messages(name)) >= least


@pytest.mark.parametrize(
    "text",
    [
        "Why does it print this?\n```\nremember that from now on ...\n```",
        "~~~text\nalways use tabs\n~~~\nwhat is that?",
        "````\n```\nalways use tabs\n```\nnever push to main\n````",
        "It says:\n> Remember to run the tests.\n> From now on use tabs.",
        "It printed\n\n    remember to run the tests\n\nand stopped",
        "$ make\nwarning: remember to run this\nerror: don't forget it\n2026-01-02 10:00:01 always use tls",
        "+++ b/README.md\nsrc/a.c:12: note that x is unused",
        "```\nnever ends",
    ],
    ids=["fence", "tildes", "fence-in-fence", "quote", "indented", "log", "diff", "open-fence"],
)
def test_what_was_pasted_is_not_the_users_word(text: str) -> None:
    assert not asks_to_note(text)
    assert not is_correction(text)
    assert not asks_to_forget(text)


@pytest.mark.parametrize(
    "text",
    [
        "Remember this:\n```\nmake deploy\n```",
        "```\nmake deploy\n```\nremember that",
        "> use spaces\n\nNo, from now on use tabs.",
        'Remember that I say "shelf" for a level.',
    ],
)
def test_words_beside_what_was_pasted_count(text: str) -> None:
    assert asks_to_note(text)


def test_both_ends_of_a_long_message_count_and_its_middle_does_not() -> None:
    log = "some words of a log\n" * 50_000
    assert asks_to_note(f"{log}\nremember that")
    assert asks_to_note(f"Remember that.\n{log}")
    assert not asks_to_note(f"{log}\nremember that\n{log}")
    assert not asks_to_note(f"```\n{log}\nremember that\n")
    assert asks_to_note(f"```\n{log}```\nremember that\n")


PIECES = [
    "can you ", "please ", "you should ", "i want you to ", "把", "这样", "请你", "你",
    "我说", "不是", "remember ",
    "not ", "but ", "no, ", "actually, ", "always ", "use ", "and ", "'", '"', "“", "`", "```\n", "> ",
    "?", ".", "\n", " ", ",", "的", "不对", "forget ", "。", "-", "a", "以后", "忘", "记",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_of_one_piece_takes_no_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    begin = time.process_time()
    for recognises in (asks_to_note, is_correction, asks_to_forget):
        recognises(text)
        recognises(f"{text}!")
    # Seconds; it takes some hundredths, and what grows with the square of the length takes minutes.
    assert time.process_time() - begin < 4


@given(
    st.lists(st.sampled_from([*PIECES, "tabs", "tests"]), max_size=60).map("".join) | st.text(max_size=300)
)
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(asks_to_note(text), bool)
    assert isinstance(is_correction(text), bool)
    assert isinstance(asks_to_forget(text), bool)
    assert len(own_words(text)) <= 2 * len(text) + 8


def test_each_traditional_character_has_its_simplified_one() -> None:
    assert len(phrases.TRADITIONAL) == len(phrases.SIMPLIFIED)
    assert not set(phrases.TRADITIONAL) & set(phrases.SIMPLIFIED)
