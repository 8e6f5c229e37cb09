"""Colours by language; whatever the code, its text stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.highlight import Highlighter
from mewcode.repl.highlight_languages import language_named

INFOS = [
    "python",
    "js",
    "ts",
    "rust",
    "go",
    "c",
    "cpp",
    "java",
    "json",
    "bash",
    "html",
    "css",
    "yaml",
    "toml",
    "sql",
    "diff",
    "unknown",
]


def _marked(info, *lines):
    highlighter = Highlighter.for_info(info)
    return [[(line[start:end], styles[0]) for start, end, styles in highlighter.line(line)] for line in lines]


@pytest.mark.parametrize(
    ("info", "line", "expected"),
    [
        ("python", "x = f'a' # c", [("f'a'", "string"), ("# c", "comment")]),
        ("py title=x", "return foo(1)", [("return", "keyword"), ("foo", "name"), ("1", "number")]),
        ("ts", "const a = 'b' // c", [("const", "keyword"), ("'b'", "string"), ("// c", "comment")]),
        ("rust", "fn f<'a>(x: &'a u8)", [("fn", "keyword"), ("u8", "keyword")]),
        ("go", "x := 'a'", [("'a'", "string")]),
        ("c", "#include <a.h>", [("#include", "keyword")]),
        (
            "json",
            '{"a": "b", "c": -1.5}',
            [('"a"', "name"), ('"b"', "string"), ('"c"', "name"), ("-1.5", "number")],
        ),
        ("bash", "echo $HOME # x", [("echo", "keyword"), ("$HOME", "name"), ("# x", "comment")]),
        ("bash", "a#b ${#x}", [("${#x}", "name")]),
        (
            "html",
            '<a href="x">',
            [("<a", "keyword"), ("href", "name"), ('"x"', "string"), (">", "keyword")],
        ),
        ("yaml", "key: true # c", [("key", "name"), ("true", "keyword"), ("# c", "comment")]),
        ("sql", "SELECT 'a' -- c", [("SELECT", "keyword"), ("'a'", "string"), ("-- c", "comment")]),
        ("diff", "+added", [("+added", "added")]),
        ("diff", "-removed", [("-removed", "removed")]),
        ("unknown", "return 1", []),
        ("", "return 1", []),
    ],
)
def test_tokens(info, line, expected):
    assert _marked(info, line) == [expected]


def test_strings_and_comments_over_lines():
    assert _marked("python", 'a = """x', "y", 'z""" + 1') == [
        [('"""x', "string")],
        [("y", "string")],
        [('z"""', "string"), ("1", "number")],
    ]
    assert _marked("js", "/* x", "y */ if") == [
        [("/* x", "comment")],
        [("y */", "comment"), ("if", "keyword")],
    ]
    assert _marked("html", "<!-- x", "y -->") == [[("<!-- x", "comment")], [("y -->", "comment")]]


def test_names_of_languages():
    assert language_named("PY") is language_named("{.python .numberLines}")
    assert language_named("ts,ignore") is language_named("javascript")
    assert language_named("nosuch python") is None
    assert language_named("") is None


@settings(max_examples=200)
@given(
    st.sampled_from(INFOS),
    st.lists(st.text(st.sampled_from("ab1 .'\"`/*#<>-!\\$@{}()é中"), max_size=30), max_size=4),
)
def test_runs_are_in_order_and_within_the_line(info, lines):
    highlighter = Highlighter.for_info(info)
    for line in lines:
        at = 0
        for start, end, styles in highlighter.line(line):
            assert at <= start < end <= len(line)
            assert len(styles) == 1
            at = end


@pytest.mark.parametrize("info", INFOS)
def test_hostile_lines_end(info):
    # Had an expression to try a line in many ways, this would take minutes.
    for part in ("a", '"', "'", "\\", "#", " ", "1e", "[", "a:", "/*", "<a ", "- "):
        line = part * (2000 // len(part))
        assert all(end <= len(line) for _, end, _ in Highlighter.for_info(info).line(line))
