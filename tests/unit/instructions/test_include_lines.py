"""Which lines ask for an include, and which are text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.instructions.directive import Directive, parse_directive
from mewcode.instructions.limits import cut_at_line
from mewcode.instructions.markdown_scan import _Scan, scan


def asked(text):
    return [(piece.path, piece.line) for piece in scan(text).pieces if isinstance(piece, Directive)]


def kept(text):
    return "\n".join(piece for piece in scan(text).pieces if isinstance(piece, str))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("@include a.md", "a.md"),
        ("   @include\ta.md  ", "a.md"),
        ('@include "a b.md"', "a b.md"),
        ("@include 'a b.md'", "a b.md"),
        (r"@include a\ b.md", "a b.md"),
        ("@include ~/x.md", "~/x.md"),
        ("@include 规则/说明.md", "规则/说明.md"),
        ("@a.md", "a.md"),
        ("@docs/a.md.", "docs/a.md"),
        ("@docs/a.md, ", "docs/a.md"),
        (r"@a\ b.md", "a b.md"),
        ('@"a b.md"', "a b.md"),
        ("@include notes.txt", "notes.txt"),
    ],
)
def test_lines_that_ask(line, path):
    assert parse_directive(line, 3) == Directive(path, 3)


@pytest.mark.parametrize(
    "line",
    [
        "@included a.md",
        "see @include a.md",
        "@someone",
        "@notes.txt",
        "@a.md and more",
        "    @include a.md",
        "\t@include a.md",
        "@ a.md",
        "@@a.md",
        "- @include a.md",
        "",
    ],
)
def test_lines_that_are_text(line):
    assert parse_directive(line, 1) is None
    assert asked(line) == []
    assert kept(line) == line


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("@include", "no path"),
        ('@include "a.md', "a quote without its partner"),
        ("@include a b.md", "more than a path; one with spaces needs quotes"),
    ],
)
def test_lines_that_ask_for_nothing_that_can_be_read(line, problem):
    found = parse_directive(line, 1)
    assert found is not None
    assert found.problem == problem


@pytest.mark.parametrize(
    "text",
    [
        "```\n@include a.md\n```",
        "~~~ text\n@include a.md\n```\n@a.md\n~~~",
        "````\n```\n@include a.md\n````",
        "```\n@include a.md",
        "intro `code\n@include a.md\nend`",
        "`@include a.md`",
        "<!--\n@include a.md\n-->",
        "<!-- x -->@include a.md",
        "text\n\n    @include a.md\n    @a.md",
    ],
)
def test_code_and_comments_ask_for_nothing(text):
    assert asked(text) == []


def test_what_stands_around_code_does_ask():
    text = "@include a.md\n```\n@include b.md\n```\n@include c.md\n`x` and ``y\n@d.md\n"
    assert asked(text) == [("a.md", 1), ("c.md", 5), ("d.md", 7)]


def test_a_span_ends_with_its_paragraph():
    assert asked("a ` b\n\n@include a.md\n\nc ` d") == [("a.md", 3)]


def test_comments_for_people_are_left_out():
    assert kept("a<!-- no -->b\n<!-- whole\nlines\n\n-->\nc\n<!--> d") == "ab\nc\n d"


def test_comments_in_code_stay():
    text = "`<!-- a -->`\n```\n<!-- b -->\n```\n\\<!-- c -->"
    assert kept(text) == text


def test_a_comment_that_is_never_closed_hides_nothing():
    found = scan("a\n<!-- oh\nb --\n@include c.md")
    assert found.open_comment == 2
    assert found.pieces == ["a\n<!-- oh\nb --", Directive("c.md", 4)]


def test_a_directive_may_bear_a_comment():
    assert asked("@include a.md <!-- why -->") == [("a.md", 1)]


@given(st.text(alphabet="ab`~<!->@ \n\\.md", max_size=200))
def test_no_text_is_lost_or_made_up(text):
    found = scan(text)
    letters = "".join(piece if isinstance(piece, str) else piece.path for piece in found.pieces)
    source = iter(text)
    assert all(letter in source for letter in letters if letter in "abmd")
    if "<!--" not in text and "@" not in text:
        assert "\n".join(found.pieces) == text


@given(st.text(max_size=80), st.integers(0, 100))
def test_a_cut_keeps_whole_characters_and_lines(text, limit):
    cut = cut_at_line(text, limit)
    assert text.startswith(cut)
    assert len(cut.encode("utf-8", "surrogatepass")) <= limit
    if cut != text and "\n" in cut:
        assert text[len(cut)] == "\n" or "\n" not in text[: len(cut) + 1]


@given(st.text(alphabet="ab`~<! ->\n\\.md", max_size=120).filter(lambda text: "<!--" not in text))
def test_a_text_without_marks_is_what_a_full_look_makes_of_it(text):
    quick, full = scan(text), _Scan(text).run()
    assert (quick.pieces, quick.numbers) == (full.pieces, full.numbers)
