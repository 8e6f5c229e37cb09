import re
import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mewcode.infra.terminal_text import StreamCleaner, safe_line, safe_text, visible_text

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# Pieces that escape sequences are made of, so that chance puts whole and broken ones together.
PIECES = [
    "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x9b", "\x9d", "\x9c", "\x07", "\\", "0", "3", ";", "1", "m",
    "K", "G", "2K", "?25l", "h", "8", "(", "B", "#", " ", "\t", "\n", "\r", "\r\n", "\b", "\0", "\x01",
    "\x02", "\x7f", "a", "text", "é", "中文", "🐱", "\u202e", "\ufeff", "\ud800", "\U000e0041", "[", "]",
]  # fmt: skip
noisy = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)
plain = st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs")) | st.sampled_from("\n\t"), max_size=200)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=\x07", ""),
        ("\x1bPq#0;2\x1b\\after", "after"),
        ("\x9b31mred\x9d0;title\x9cx", "redx"),
        ("\x1b(Bx\x1b7y\x1bcz", "xyz"),
        ("\x1b\x1b[31mx", "x"),
        ("a\x1b[3\x1b[1mb", "ab"),
        ("trailing\x1b", "trailing"),
        ("10%\r20%\rdone", "done"),
        ("long line\rshort", "shortline"),
        ("long line\r\x1b[Kshort", "short"),
        ("long line\x1b[2K\rshort", "short"),
        ("long line\x1b[1Gshort\x1b[K", "short"),
        ("|\b/\b-\bdone", "done"),
        ("N\bNA\bAM\bM", "NAM"),
        ("a\r\nb\r\r\nc", "a\nb\nc"),
        ("50%\r", "50%"),
        ("nul\0byte\x07", "nulbyte"),
        ("\x1b\0[31mx", "x"),
        ("safe\u202eevil", "safeevil"),
        ("hidden\U000e0041\U000e0042", "hidden"),
        ("进度 10%\r进度 100%\n", "进度 100%\n"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_escapes_and_overwritten_lines_are_resolved(raw, shown):
    assert safe_text(raw) == shown


def test_a_control_string_without_end_hides_its_line_only():
    assert safe_text("\x1b]0;no end\nresult 1\nresult 2\n") == "\nresult 1\nresult 2\n"


@settings(max_examples=500, deadline=None)
@given(noisy)
@example("\x1b")
@example("\x1b[")
@example("\x1b]\x1b[\x1b")
def test_no_escape_or_control_survives(raw):
    shown = safe_text(raw)
    assert not FORBIDDEN.search(shown)
    assert safe_text(shown) == shown


@settings(max_examples=200, deadline=None)
@given(plain)
def test_plain_text_is_left_as_it_is(text):
    if not any(unicodedata.category(character) == "Cn" for character in text):
        assert safe_text(text) == text


@settings(max_examples=300, deadline=None)
@given(noisy, noisy)
def test_lines_are_worked_out_one_by_one(first, second):
    assert safe_text(f"{first}\n{second}") == f"{safe_text(first + chr(10))}{safe_text(second)}"


def test_time_grows_with_the_length_only():
    texts = [
        "x" * 200_000 + "\rx" * 200_000,
        "x" * 200_000 + "\x1b[2Kx" * 100_000,
        "\x1b]" * 300_000,
        "\x1b[" + "0" * 500_000,
        "\x1b" + " " * 500_000,
        ("a" * 200_000 + "\r") * 4,
        "ab\b" * 200_000,
    ]
    # Quadratic work on any of these takes minutes; the system ends a child that computes for more than 30 s.
    program = "import ast, sys; from mewcode.infra.terminal_text import safe_text; "
    program += "print([len(safe_text(text)) for text in ast.literal_eval(sys.stdin.read())])"
    done = subprocess.run(
        ["bash", "-c", 'ulimit -t 30; exec "$0" -c "$1"', sys.executable, program],
        cwd=Path(__file__).parents[3],
        input=repr(texts),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def stream(raw, cuts):
    cleaner = StreamCleaner()
    borders = sorted({min(cut, len(raw)) for cut in cuts} | {0, len(raw)})
    pieces = [cleaner.feed(raw[start:end]) for start, end in pairwise(borders)]
    return [*pieces, cleaner.finish()]


@settings(max_examples=500, deadline=None)
@given(noisy, st.lists(st.integers(0, 120), max_size=20))
def test_no_piece_of_a_stream_holds_an_escape(raw, cuts):
    assert not any(FORBIDDEN.search(piece) for piece in stream(raw, cuts))


@settings(max_examples=500, deadline=None)
@given(
    noisy.map(lambda raw: re.sub("[\r\b\x9b]|2K|G|K", "", raw)), st.lists(st.integers(0, 120), max_size=20)
)
def test_where_a_stream_is_cut_changes_nothing(raw, cuts):
    assert "".join(stream(raw, cuts)) == safe_text(raw)


@settings(max_examples=100, deadline=None)
@given(noisy)
def test_a_stream_by_single_characters(raw):
    raw = re.sub("[\r\b\x9b]|2K|G|K", "", raw)
    assert "".join(stream(raw, range(len(raw)))) == safe_text(raw)


def test_a_line_that_redraws_itself_goes_on_below():
    assert stream("10%\r20%\r30%\ndone", [3, 7]) == ["10%", "\n20%", "\n30%\ndone", ""]
    assert "".join(stream("one\r\ntwo\r\n", [4])) == "one\ntwo\n"


def test_a_long_sequence_is_not_kept():
    cleaner = StreamCleaner()
    assert cleaner.feed("a\x1b]52;c;") == "a"
    for _ in range(1_000):
        assert cleaner.feed("QUJD" * 1_000) == ""
    assert len(cleaner._held) < 10_000
    assert cleaner.feed("\x1b") == ""
    assert cleaner.feed("\\b") == "b"
    assert cleaner.feed("\x1b[") == ""
    assert [cleaner.feed("1" * 5_000) for _ in range(3)] == ["", "", ""]
    assert cleaner.feed("mc") == "c"


def test_what_a_person_must_judge_is_spelt_out():
    assert visible_text("rm -rf x\recho hi\x1b[8m\u202e\n\ttail") == (
        "rm -rf x\\recho hi\\x1b[8m\\u202e\n\ttail"
    )
    # A zero-width space is text where it is shown, and a trap where it is judged.
    assert visible_text("pay\u200bload") == "pay\\u200bload"
    assert safe_text("pay\u200bload") == "pay\u200bload"


@settings(max_examples=200, deadline=None)
@given(noisy)
def test_spelt_out_text_is_safe_and_loses_nothing(raw):
    shown = visible_text(raw)
    assert not FORBIDDEN.search(shown)
    assert len(shown) >= len(raw)


@settings(max_examples=200, deadline=None)
@given(noisy, st.integers(1, 50))
def test_a_line_is_one_line_within_its_limit(raw, limit):
    line = safe_line(raw, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert not FORBIDDEN.search(line)
