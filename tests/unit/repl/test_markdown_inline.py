"""Emphasis, code, links, escapes: what is shown and in which style."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.markdown_inline import join_lines, parse_inline


def _marked(raw, **options):
    """``text`` with styles as ``<style:...>``."""
    styled = parse_inline(raw, **options)
    parts, at = [], 0
    for start, end, styles in styled.runs:
        parts.append(styled.text[at:start])
        parts.append(f"<{'+'.join(styles)}:{styled.text[start:end]}>")
        at = end
    return "".join(parts) + styled.text[at:]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("a **b** c", "a <bold:b> c"),
        ("a *b* _c_", "a <italic:b> <italic:c>"),
        ("__B c__", "<bold:B c>"),
        ("***both***", "<italic+bold:both>"),
        ("**a *b* c**", "<bold:a ><bold+italic:b><bold: c>"),
        ("*a **b** c*", "<italic:a ><italic+bold:b><italic: c>"),
        ("snake_case_name", "snake_case_name"),
        ("__init__.py", "__init__.py"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("**open", "**open"),
        ("~~gone~~ ~5 to ~6", "<strike:gone> ~5 to ~6"),
        ("`a*b*`", "<code:a*b*>"),
        ("`` a`b ``", "<code:a`b>"),
        ("`open", "`open"),
        ("``a`b", "``a`b"),
        (r"\*not\* \[x\] \d", r"*not* [x] \d"),
        ("[red]x[/]", "[red]x[/]"),
        ("<b>tag</b>", "<b>tag</b>"),
        ("a &amp; b &lt; &nosuch; AT&T", "a & b < &nosuch; AT&T"),
        ("<https://x.y/z>", "<link:https://x.y/z>"),
        ("see https://x.y/a_b_c.", "see <link:https://x.y/a_b_c>."),
        ("(https://x.y/a_(b))", "(<link:https://x.y/a_(b)>)"),
        ("见https://x.y/a。好", "见<link:https://x.y/a>。好"),
        ("[text](https://evil.org)", "<link:text><dim: (https://evil.org)>"),
        ("[https://good.org](https://evil.org)", "<link:https://good.org><dim: (https://evil.org)>"),
        ("[https://x.y](https://x.y)", "<link:https://x.y>"),
        ('[a](<b c> "title")', "<link:a><dim: (b c)>"),
        ("[a **b**](u)", "<link:a ><link+bold:b><dim: (u)>"),
        ("[](u)", "<link:u>"),
        ("![alt](i.png)", "image: <link:alt><dim: (i.png)>"),
        ("[a] (b)", "[a] (b)"),
        ("a[0](x", "a[0](x"),
        ("**中文（括号）**后面", "<bold:中文（括号）>后面"),
        ("前面**“引用”**后面", "前面<bold:“引用”>后面"),
    ],
)
def test_inline(raw, shown):
    assert _marked(raw) == shown


def test_without_styles_code_and_strike_keep_their_marks():
    assert _marked("`a` ~~b~~ **c**", written_out=True).replace("code:", "").replace("strike:", "") == (
        "<`a`> <~~b~~> <bold:c>"
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("a **bo", "a <bold:bo>"), ("a `co", "a <code:co>"), ("**bold*", "<bold:bold>"), ("a **", "a ")],
)
def test_unfinished_text_is_shown_as_if_its_marks_were_closed(raw, shown):
    assert _marked(raw, partial=True) == shown


def test_an_entity_brings_no_control_character():
    assert parse_inline("a&#27;[31m&#x202e;b&#10;c&#x9b;").text.isprintable()


def test_soft_breaks_are_spaces_but_not_between_chinese_characters():
    assert join_lines(["one", "two  ", "three\\", "four"]) == "one two\nthree\nfour"
    assert join_lines(["中文", "中文", "abc"]) == "中文中文 abc"


@settings(max_examples=300)
@given(st.text(st.sampled_from("ab *_~`[]()!<>\\&;h1中。（"), max_size=60))
def test_runs_are_in_order_and_within_the_text(raw):
    for options in ({}, {"partial": True}, {"written_out": True}):
        styled = parse_inline(raw, **options)
        at = 0
        for start, end, styles in styled.runs:
            assert at <= start < end <= len(styled.text)
            assert styles
            at = end


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab *_~`[]()!<>\\&;h1中。（"), max_size=60))
def test_letters_are_never_lost_or_doubled(raw):
    letters = [char for char in raw if char in "ab1中h"]
    shown = parse_inline(raw).text
    assert [char for char in shown if char in "ab1中h"] == letters or "(" in raw


@pytest.mark.parametrize(
    "raw", ["*a " * 700, "**a*" * 500, "[" * 2000, "[a](" * 500, "`" * 1999, "_*" * 1000]
)
def test_hostile_marks_end(raw):
    assert len(parse_inline(raw).text) <= 2 * len(raw)
    assert len(parse_inline(raw, partial=True).text) <= 2 * len(raw)
