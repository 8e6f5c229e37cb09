"""Cells as terminals count them, and where lines break."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.cell_width import cell_width, cell_widths, cut_cells
from mewcode.repl.line_wrap import break_lines, cut_lines

FAMILY = "👨\u200d👩\u200d👧"
TEXT = st.text(
    st.one_of(
        st.sampled_from(" ab,.。，、（）「」中文字한글é\u0301\u200d👨👩🇩🇪❤\ufe0f👍🏽-\u200b\u3000ｱﾞ"),
        st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")),
    ),
    max_size=80,
)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("plain", 5),
        ("é", 1),
        ("e\u0301", 1),
        ("中文", 4),
        ("한글", 4),
        ("ｆｕｌｌ", 8),
        ("“quoted”…", 9),
        (FAMILY, 2),
        ("🇩🇪🇫🇷", 4),
        ("❤\ufe0f", 2),
        ("👍🏽", 2),
        ("1\ufe0f\u20e3", 2),
        ("a\u200bb", 2),
        ("│─•☐☒◐└❯●", 9),
    ],
)
def test_width_in_cells(text, width):
    assert cell_width(text) == width


def test_a_cluster_has_its_width_on_its_first_code_point():
    assert cell_widths(f"a{FAMILY}b") == [1, 2, 0, 0, 0, 0, 1]


@settings(max_examples=200)
@given(TEXT, st.integers(0, 20))
def test_a_cut_text_fits_and_is_a_beginning(text, width):
    cut = cut_cells(text, width)
    assert cell_width(cut) <= width
    if cut != text:
        assert cut == "" or text.startswith(cut.removesuffix("…"))
        assert cell_width(text) > width or len(text) > 8 * width


def test_a_cut_never_splits_a_wide_character():
    assert cut_cells("中文字符", 5) == "中文…"
    assert cut_cells("中文字符", 4) == "中…"
    assert cut_cells(f"{FAMILY}{FAMILY}", 3) == f"{FAMILY}…"
    assert cut_cells("abc", 3) == "abc"
    assert cut_cells("中", 0) == ""


@settings(max_examples=300)
@given(TEXT, st.integers(2, 30))
def test_broken_lines_fit_and_keep_all_but_spaces(text, width):
    ranges = break_lines(text, width)
    lines = [text[start:end] for start, end in ranges]
    assert all(cell_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))


@settings(max_examples=200)
@given(TEXT, st.integers(2, 30))
def test_cut_lines_fit_and_keep_everything(text, width):
    lines = [text[start:end] for start, end in cut_lines(text, width)]
    assert all(cell_width(line) <= width for line in lines)
    assert "".join(lines) == text


@settings(max_examples=150)
@given(st.text(st.sampled_from("中文，。、！？（）「」《》"), max_size=60), st.integers(6, 20))
def test_no_line_begins_with_closing_punctuation(text, width):
    closing, opening = set("，。、！？）」》"), set("（「《")
    ranges = break_lines(text, width)
    for (start, _), (at, _) in pairwise(ranges):
        allowed = [
            place
            for place in range(start + 1, at + 1)
            if text[place] not in closing and text[place - 1] not in opening
        ]
        # Elsewhere only where the whole line has no better place.
        assert not allowed or at == allowed[-1]


def _lines(text, width):
    return [text[start:end] for start, end in break_lines(text, width)]


def test_words_wrap_at_spaces():
    assert _lines("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert _lines("a  b", 2) == ["a", "b"]
    assert _lines("unbreakable", 4) == ["unbr", "eaka", "ble"]
    assert _lines("", 4) == [""]
    assert _lines("a\n\nb", 4) == ["a", "", "b"]
    assert _lines("trailing   ", 20) == ["trailing"]


def test_chinese_wraps_between_characters_but_not_before_its_punctuation():
    assert _lines("今天天气很好，我们走", 12) == ["今天天气很", "好，我们走"]
    assert _lines("他说（你好）", 6) == ["他说", "（你", "好）"]
    assert _lines("用 Python 写代码。", 10) == ["用 Python", "写代码。"]
    assert _lines("中文English混排", 8) == ["中文", "English", "混排"]


def test_more_closing_marks_than_fit_still_end():
    assert "".join(_lines("。" * 30, 6)) == "。" * 30
