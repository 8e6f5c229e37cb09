"""The rules of .gitignore, line by line; whole trees are compared in test_search_tools."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.tools.gitignore import parse_rule, walk


def fits(line, path):
    rule = parse_rule(line)
    return rule is not None and rule.fits(path.rstrip("/"), path.endswith("/"))


@pytest.mark.parametrize(
    ("line", "yes", "no"),
    [
        ("*.log", ["a.log", "x/y/a.log", "d.log/"], ["a.logs"]),
        ("build/", ["build/", "x/build/"], ["build", "build/x"]),
        ("/top", ["top", "top/"], ["x/top"]),
        ("a/b", ["a/b"], ["x/a/b", "a/b/c"]),
        ("a/**", ["a/b", "a/b/c"], ["a/"]),
        ("**/a/b", ["a/b", "x/a/b"], ["b"]),
        ("a/**/b", ["a/b", "a/x/y/b"], ["b"]),
        (r"\#x", ["#x"], ["x"]),
        (r"\!x", ["!x"], ["x"]),
        (r"a\*", ["a*"], ["ab"]),
        ("[^a]b", ["cb"], ["ab"]),
        ("[!a]b", ["cb"], ["ab"]),
        ("x  ", ["x"], []),
        (r"x\ ", ["x "], ["x"]),
        ("{a}", ["{a}"], ["a"]),
        ("x\r", ["x"], []),
    ],
)
def test_rules(line, yes, no):
    assert [path for path in yes if not fits(line, path)] == []
    assert [path for path in no if fits(line, path)] == []


@pytest.mark.parametrize("line", ["", "  ", "# x", "/", "!", "../x"])
def test_lines_that_are_no_rules(line):
    assert parse_rule(line) is None


def test_what_cannot_be_read_is_left_out(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").touch()
    (tmp_path / "b").touch()
    (tmp_path / ".gitignore").mkdir()
    import os

    real = os.scandir

    def scandir(folder):
        if folder.endswith("/a"):
            raise PermissionError
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert list(walk(tmp_path, hidden=False)) == ["b"]


names = st.sampled_from(["a", "b", "a.b", "!a", "#a"])
rule_lines = st.lists(
    st.sampled_from(
        [
            "a",
            "!a",
            "/a",
            "a/",
            "*.b",
            "!*.b",
            "a/*",
            "**/b",
            "a/**",
            "!a/a",
            r"\#a",
            r"\!a",
            "*",
            "!*/",
            "[ab]",
            "?",
        ]
    ),
    max_size=4,
)


@settings(max_examples=30, deadline=None)
@given(lines=rule_lines, paths=st.lists(st.lists(names, min_size=1, max_size=3), min_size=1, max_size=6))
def test_the_rules_are_those_of_git(tmp_path_factory, lines, paths):
    root = tmp_path_factory.mktemp("repo")
    (root / ".gitignore").write_text("\n".join(lines) + "\n")
    for parts in paths:
        path = root.joinpath(*parts)
        if not any(parent.is_file() for parent in path.parents) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    git = ["git", "-c", "core.excludesFile=", "-c", "core.quotePath=false"]
    subprocess.run([*git, "init", "-q"], cwd=root, check=True)
    listed = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    expected = sorted(name for name in listed.stdout.split("\0") if name and name != ".gitignore")
    assert sorted(walk(root.resolve(), hidden=False)) == expected
