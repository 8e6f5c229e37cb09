"""The terminal's answer on its background, told from keys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.background_color import AnswerFilter, is_light, worth_asking
from mewcode.repl.terminal_traits import TerminalTraits

ANSWERS = ["\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;rgb:00/00/00\x07", "\x1b]11;rgba:f/f/f/8\x1b\\"]


class Parser:
    def __init__(self) -> None:
        self.fed = ""
        self.flushes = 0

    def feed(self, data: str) -> None:
        self.fed += data

    def flush(self) -> None:
        self.flushes += 1

    def feed_and_flush(self, data: str) -> None:
        raise AssertionError

    def reset(self, request: bool = False) -> None:
        self.fed = ""


@settings(max_examples=200, deadline=None)
@given(
    before=st.text("ab\x1b[]1;你", max_size=6),
    answer=st.sampled_from(ANSWERS),
    after=st.text("ab[]1;A", max_size=6),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    flushes=st.booleans(),
)
def test_keys_around_the_answer_come_through_in_their_order(
    before: str, answer: str, after: str, cuts: list[int], flushes: bool
) -> None:
    if before.endswith("\x1b"):
        before += "x"
    parser, told = Parser(), []
    filter_ = AnswerFilter(parser, told.append)
    text = before + answer + after
    places = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    # A wait between the Esc that begins an answer and its second character makes a key of it.
    places = [place for place in places if not (flushes and len(before) < place < len(before) + 5)]
    start = 0
    for place in places:
        filter_.feed(text[start:place])
        start = place
        if flushes:
            filter_.flush()
    filter_.flush()
    assert parser.fed == before + after
    assert told == [answer != ANSWERS[1]]


@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(st.text("ab\x1b[]1;\\\x07", max_size=5), max_size=6))
def test_what_is_no_answer_is_kept_whole(pieces: list[str]) -> None:
    parser = Parser()
    filter_ = AnswerFilter(parser, lambda light: None)
    for piece in pieces:
        filter_.feed(piece)
    filter_.flush()
    text = "".join(pieces)
    if "\x1b]11;" not in text:
        assert parser.fed == text


def test_esc_is_a_key_after_the_time_out() -> None:
    parser = Parser()
    filter_ = AnswerFilter(parser, lambda light: None)
    filter_.feed("\x1b")
    filter_.flush()
    assert parser.fed == "\x1b"
    assert parser.flushes == 1


def test_after_the_answer_nothing_is_looked_at() -> None:
    parser, told = Parser(), []
    filter_ = AnswerFilter(parser, told.append)
    filter_.feed(ANSWERS[0])
    filter_.feed(ANSWERS[1])
    assert told == [True]
    assert parser.fed == ANSWERS[1]


def test_an_answer_without_a_colour_is_taken_out_and_tells_nothing() -> None:
    parser, told = Parser(), []
    filter_ = AnswerFilter(parser, told.append)
    filter_.feed("a\x1b]11;whatever\x07b")
    assert (parser.fed, told) == ("ab", [])


def test_light_and_dark() -> None:
    assert is_light("ff", "ff", "ff")
    assert is_light("fdfd", "f6f6", "e3e3")
    assert not is_light("0000", "2b2b", "3636")
    assert not is_light("0", "0", "f")


@pytest.mark.parametrize(
    ("wanted", "environ", "osc", "worth"),
    [
        ("auto", {}, True, True),
        ("dark", {}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"COLORFGBG": "15;0"}, True, False),
        ("auto", {}, False, False),
    ],
)
def test_when_it_is_asked(wanted: str, environ: dict[str, str], osc: bool, worth: bool) -> None:
    assert worth_asking(wanted, environ, TerminalTraits(osc=osc)) is worth
