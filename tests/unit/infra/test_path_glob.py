from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import ToolError
from mewcode.infra.path_glob import PathGlob, split_base
from mewcode.tools.ripgrep import find_ripgrep


def matches(pattern, path):
    return PathGlob(pattern).matches(path.split("/"))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc", "apy"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.pyx"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "asrc/a"]),
        ("**", ["a", "a/b"], []),
        ("src/**/test_*.ts", ["src/test_a.ts", "src/x/y/test_a.ts"], ["test_a.ts", "src/a.ts"]),
        ("**/a/**/b", ["a/b", "x/a/y/z/b", "a/a/b"], ["b", "a", "a/c"]),
        ("*.{yml,yaml}", ["a.yml", "a.yaml"], ["a.yl"]),
        ("{a,b/{c,d}}/x", ["a/x", "b/c/x", "b/d/x"], ["b/x"]),
        ("?[a-c][!x].txt", ["1ay.txt"], ["1ax.txt", "1dy.txt", "/ay.txt"]),
        ("./a//b", ["a/b"], ["b"]),
        ("文件*.md", ["文件一.md"], ["文.md"]),
    ],
)
def test_patterns(pattern, yes, no):
    assert [path for path in yes if not matches(pattern, path)] == []
    assert [path for path in no if matches(pattern, path)] == []


@pytest.mark.parametrize(
    "pattern", ["*/../../x", "{../a,b}", "a/{b,..}", "..", "{a", "a}", "{" * 9 + "}" * 8]
)
def test_patterns_that_lead_out_or_make_no_sense(pattern):
    with pytest.raises(ToolError):
        PathGlob(pattern)


def test_braces_are_bounded():
    with pytest.raises(ToolError, match="fewer braces"):
        PathGlob("{a,b}" * 12)


def test_many_stars_do_not_take_long():
    assert not matches("*a" * 30 + "b", "a" * 200)
    assert not matches("**/" * 1 + "a/**/" * 12 + "b", "/".join("a" * 60))


@pytest.mark.parametrize(
    ("pattern", "base", "rest"),
    [
        ("*.py", "", "*.py"),
        ("src/lib/*.py", "src/lib", "*.py"),
        ("src/a.py", "src", "a.py"),
        ("../x/**", "../x", "**"),
        ("/etc/*", "/etc", "*"),
        ("/*", "/", "*"),
        ("~/x/*", "~/x", "*"),
        ("{a,b}/c", "", "{a,b}/c"),
    ],
)
def test_the_literal_beginning(pattern, base, rest):
    assert split_base(pattern) == (base, rest)


def test_hidden_names():
    assert PathGlob("**/.env*").names_hidden
    assert PathGlob("{.github,x}/*").names_hidden
    assert not PathGlob("./a/*.b").names_hidden


parts = st.lists(
    st.text("ab.", min_size=1, max_size=3).filter(lambda part: part.strip(".")), min_size=1, max_size=4
)
patterns = st.lists(st.sampled_from(["**", "*", "a", "b*", "*a", "?", "[ab]b"]), min_size=1, max_size=4)


def as_regex(pattern):
    """The same by one regular expression, in the plain way."""
    source = "/".join(pattern) + ("/*" if pattern[-1] == "**" else "")
    source = re.sub(r"\*\*/", "\1", source).replace("*", "[^/]*").replace("?", "[^/]").replace(".", r"\.")
    return re.compile(source.replace("\1", "(?:[^/]+/)*") + r"\Z")


@settings(max_examples=300)
@given(pattern=patterns, path=parts)
def test_matching_agrees_with_a_plain_regular_expression(pattern, path):
    expected = as_regex(pattern).match("/".join(path)) is not None
    assert PathGlob("/".join(pattern)).matches(path) == expected


NAMES = ["a.py", "b.pyc", "src/a.py", "src/x/test_a.py", "src/x/y/[z].py", "docs/a.yaml", "a{b.txt"]


def by_ripgrep(pattern, root):
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    command = [find_ripgrep(), "--files", "--no-config", f"--glob=/{pattern}"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.split()


def by_us(pattern, root):
    return [name for name in NAMES if matches(pattern, name)]


@pytest.mark.parametrize("find", [by_us, by_ripgrep] if find_ripgrep() else [by_us])
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", "a.py"),
        ("**/*.py", "a.py src/a.py src/x/test_a.py src/x/y/[z].py"),
        ("src/**", "src/a.py src/x/test_a.py src/x/y/[z].py"),
        ("src/**/*_?.py", "src/x/test_a.py"),
        ("**/*.{pyc,yaml}", "b.pyc docs/a.yaml"),
        ("**/[a-b].*", "a.py b.pyc docs/a.yaml src/a.py"),
        ("s*/*", "src/a.py"),
        ("**/x/**", "src/x/test_a.py src/x/y/[z].py"),
    ],
)
def test_the_rules_are_those_of_ripgrep(tmp_path, find, pattern, found):
    assert sorted(find(pattern, tmp_path)) == found.split()
