"""How commands are read, against real bash where it is there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from permission_attacks import ATTACKS

from mewcode.core.access import CommandAccess
from mewcode.permissions.folders import place_commands
from mewcode.permissions.shell import MAX_COMMAND, read_command, simple_commands
from mewcode.permissions.shell_tree import decode_ansi


def words(text: str) -> list[list[str]]:
    line = read_command(text)
    assert line.program is not None, line.problem
    return [
        [word.text for word in command.words] for command in simple_commands(line.program) if command.words
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git status", [["git", "status"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a;b&c|d&&e||f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a $(b `c`) e", [["a", "$(b `c`)", "e"], ["b", "`c`"], ["c"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("for i in $(a) b; do c $i; done", [["a"], ["c", "$i"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("(a; b) | { c; }", [["a"], ["b"], ["c"]]),
        ("cat <<'E' | b\n$(x)\nE\nc", [["cat"], ["b"], ["c"]]),
        ("a > f b 2>&1 c", [["a", "b", "c"]]),
        ("a < $(b)", [["a"], ["b"]]),
        ('a <<< "$(b)"', [["a"], ["b"]]),
        ("a # b; c", [["a"]]),
        ("a b#c", [["a", "b#c"]]),
        ("你好 世界", [["你好", "世界"]]),
        ("a '你 好' $(b 世)", [["a", "你 好", "$(b 世)"], ["b", "世"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("a $'x\\ny' $'z'", [["a", "x\ny", "z"]]),
        ("! a | b", [["a"], ["b"]]),
    ],
)
def test_what_is_understood(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("text", [command for command, with_rule, _ in ATTACKS if with_rule == "allow"])
def test_what_is_allowed_is_understood_by_both_readers(text: str) -> None:
    assert not read_command(text).problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * (MAX_COMMAND + 1), "longer than 64 KB"),
        ("世" * (MAX_COMMAND // 2), "longer than 64 KB"),
        ("a\rb", "does not show (U+000D)"),
        ("a\u00a0b", "does not show (U+00A0)"),
        ("a '", "does not parse"),
        ("f() { a; }", "a function"),
        ("case x in x) a;; esac", "'case' is not followed"),
        ("time a", "'time' is not followed"),
        ("", "no command"),
    ],
)
def test_what_is_not_understood_says_why(text: str, said: str) -> None:
    line = read_command(text)
    assert line.program is None
    assert said in line.problem


@given(
    st.text(st.characters(codec="utf-8"), max_size=60) | st.text("ab $(){}`'\"\\;&|<>\n#*?~=![]", max_size=40)
)
@settings(max_examples=400, deadline=None)
def test_reading_never_raises(text: str) -> None:
    line = read_command(text)
    assert (line.program is None) == bool(line.problem)


NONSENSE = [
    "(", "$(", "a &&", "a;", "a|", "'", '"$(', "<<A\n", "a <<A;", "{ ", "`", "if a; then ", "a b ", "\\",
    "sudo ", "[ ", "case x in ", "${a:-", "a >b ", "f(){ ", "bash -c 'a b' ", "python -c 'rm a b' ",
]  # fmt: skip


@pytest.mark.parametrize("text", NONSENSE)
def test_large_nonsense_takes_bounded_time(place, text: str) -> None:
    """Several seconds for each, were the sizes not bounded; no clock here, the suite's limit tells."""
    policy = place.policy(deny=["bash(rm * x * y)", "read_file(.env)"])
    for size in (8_000, 60_000):
        access = CommandAccess((text * size)[:size], str(place.root))
        assert policy.judge("bash", False, [access]).decision == "ask"


def test_escapes_of_ansi_quotes() -> None:
    assert decode_ansi("\\x72\\155\\u4f60\\n\\'\\q") == "rm你\n'\\q"
    assert decode_ansi("\\UFFFFFFFF") == "\\UFFFFFFFF"


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("x", ["/w"]),
        ("cd a && x", ["/w/a"]),
        ("cd a; x", ["/w", "/w/a"]),
        ("cd a || x", ["/w"]),
        ("cd a && cd b && x", ["/w/a/b"]),
        ("cd /a && x", ["/a"]),
        ("cd ~ && x", ["/h"]),
        ("cd ~/b && x", ["/h/b"]),
        ("(cd a) && x", ["/w"]),
        ("(cd a && x)", ["/w/a"]),
        ("! cd a && x", ["/w", "/w/a"]),
        ("cd a | x", ["/w"]),
        ("cd a & x", ["/w", "/w/a"]),
        ("if cd a; then x; fi", ["/w", "/w/a"]),
        ("cd $A && x", None),
        ("cd - && x", None),
        ("cd && x", None),
        ("cd -P a && x", None),
        ("cd a b && x", None),
        ("pushd a && x", None),
        ("eval y; x", None),
        ("for i in a b; do x; cd ..; done", None),
        ("$(y) && x", None),
    ],
)
def test_folders_follow_cd(text: str, folders: list[str] | None) -> None:
    program = read_command(text).program
    assert program is not None
    (found,) = [
        placed.folders for placed in place_commands(program, "/w", "/h") if placed.command.name == "x"
    ]
    assert (sorted(found) if found is not None else None) == folders


def test_letters_of_any_script_are_letters_of_words() -> None:
    """The grammar's scanner, given these as they are, crashes the process now and then."""
    for text in ("echo 你好 > 文件", "ls é{ü", "cat <<é\nü\né\n", "Q\u00f3{\U000f3da3\u85d1Ez{` \n"):
        read_command(text)
    line = read_command("touch 笔记.txt && cat ñ")
    assert [word.text for command in line.commands for word in command.words] == [
        "touch",
        "笔记.txt",
        "cat",
        "ñ",
    ]
    assert not line.problem
