"""The command line: every flag, what excludes what, and when a word is a sub-command."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode import cli
from mewcode._version import __version__
from mewcode.cli import parse, run
from mewcode.core.access import MODES
from mewcode.core.errors import MewCodeError, SessionError, UsageError
from mewcode.options import Options


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Options()),
        (["fix it"], Options(prompt="fix it")),
        (["fix", "it", "now"], Options(prompt="fix it now")),
        (["修复测试"], Options(prompt="修复测试")),
        (["-p", "x"], Options(prompt="x", headless=True)),
        (["--print", "x"], Options(prompt="x", headless=True)),
        (["x", "-p"], Options(prompt="x", headless=True)),
        (["-p"], Options(headless=True)),
        (["--output-format", "json"], Options(output_format="json")),
        (["--output-format=stream-json"], Options(output_format="stream-json")),
        (
            ["--input-format", "stream-json", "--output-format", "stream-json"],
            Options(input_format="stream-json", output_format="stream-json"),
        ),
        (["-c"], Options(continue_newest=True)),
        (["--continue", "go on"], Options(continue_newest=True, prompt="go on")),
        (["-pc", "go on"], Options(continue_newest=True, prompt="go on", headless=True)),
        (["-r"], Options(resume="")),
        (["--resume", "2026"], Options(resume="2026")),
        (["-r", "2026", "go on"], Options(resume="2026", prompt="go on")),
        (["-r", "--", "go on"], Options(resume="", prompt="go on")),
        (["go on", "-r"], Options(resume="", prompt="go on")),
        (["-c", "--fork-session"], Options(continue_newest=True, fork=True)),
        (["-r", "x", "--fork-session"], Options(resume="x", fork=True)),
        (["--model", "m"], Options(model="m")),
        (["--model", "m", "a prompt"], Options(model="m", prompt="a prompt")),
        (["--provider", "openai"], Options(provider="openai")),
        (["--base-url", "http://127.0.0.1:1/v1"], Options(base_url="http://127.0.0.1:1/v1")),
        (["--max-turns", "7"], Options(max_turns=7)),
        (["--max-cost", "0.25"], Options(max_cost=0.25)),
        *[(["--permission-mode", mode], Options(mode=mode)) for mode in MODES],
        (["--allow", "bash(git *)", "--allow", "todo"], Options(allow=("bash(git *)", "todo"))),
        (["--deny", "bash(rm *)"], Options(deny=("bash(rm *)",))),
        (["--cwd", "x/y"], Options(cwd=Path("x/y"))),
        (["--add-dir", "a", "--add-dir", "~/b"], Options(add_dirs=(Path("a"), Path("~/b")))),
        (["--config", "c.yaml"], Options(config_file=Path("c.yaml"))),
        (["--no-memory"], Options(no_memory=True)),
        (["--trust"], Options(trust=True)),
        (["--verbose"], Options(verbose=True)),
        (["config"], Options(command="config")),
        (["config", "show", "--json"], Options(command="config", words=("show",), as_json=True)),
        (["config", "path", "--cwd", "x"], Options(command="config", words=("path",), cwd=Path("x"))),
        (["doctor", "--provider", "groq"], Options(command="doctor", provider="groq")),
        (["completion", "zsh"], Options(command="completion", words=("zsh",))),
        (["-p", "doctor"], Options(prompt="doctor", headless=True)),
        # A first word that is a sub-command is one; anywhere else, or behind `--`, it is a word.
        (["demo"], Options(demo=True)),
        (["demo", "--verbose"], Options(demo=True, verbose=True)),
        (["--", "demo"], Options(prompt="demo")),
        (["-p", "--", "demo"], Options(prompt="demo", headless=True)),
        (["-p", "demo"], Options(prompt="demo", headless=True)),
        (["--", "demo", "the", "feature"], Options(prompt="demo the feature")),
        (["Demo"], Options(prompt="Demo")),
        (["--", "-p"], Options(prompt="-p")),
        (["--", "--version"], Options(prompt="--version")),
        (["--", "--", "x"], Options(prompt="-- x")),
    ],
)
def test_what_arguments_say(arguments: list[str], expected: Options) -> None:
    assert parse(arguments) == expected


def test_every_option_can_be_said() -> None:
    """A field of the options that no flag sets would be a forgotten one."""
    flags = {
        "prompt": ["x"], "headless": ["-p"], "output_format": ["--output-format", "json"],
        "input_format": ["--input-format", "stream-json", "--output-format", "stream-json"],
        "continue_newest": ["-c"], "resume": ["-r", "x"], "fork": ["-c", "--fork-session"],
        "model": ["--model", "x"], "provider": ["--provider", "x"], "base_url": ["--base-url", "x"],
        "max_turns": ["--max-turns", "1"], "max_cost": ["--max-cost", "1"],
        "mode": ["--permission-mode", "plan"], "allow": ["--allow", "x"], "deny": ["--deny", "x"],
        "cwd": ["--cwd", "x"], "add_dirs": ["--add-dir", "x"], "config_file": ["--config", "x"],
        "command": ["doctor"], "words": ["config", "show"], "as_json": ["doctor", "--json"],
        "plain": ["--plain"],
        "session_flags": ["sessions", "check", "--repair"],
        "memory_flags": ["memory", "list", "--all"],
        "knowledge_flags": ["knowledge", "search", "x", "--limit", "3"],
        "eval_flags": ["eval", "recall", "--dataset", "x"],
        "no_memory": ["--no-memory"], "trust": ["--trust"], "verbose": ["--verbose"], "demo": ["demo"],
    }  # fmt: skip
    assert set(flags) == set(Options.__struct_fields__)
    for name, arguments in flags.items():
        assert getattr(parse(arguments), name) != getattr(Options(), name)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nonsense"], "--nonsense"),
        (["--mod", "x"], "--mod"),  # no abbreviations: a later flag would change what they mean
        (["--model"], "--model"),
        (["--output-format", "xml"], "xml"),
        (["--input-format", "stream-json"], "needs --output-format stream-json"),
        (["--input-format", "stream-json", "--output-format", "json"], "needs --output-format stream-json"),
        (
            ["-p", "words", "--input-format", "stream-json", "--output-format", "stream-json"],
            "standard input",
        ),
        (["-c", "-r"], "exclude each other"),
        (["-c", "-r", "x"], "exclude each other"),
        (["--fork-session"], "needs -c or -r"),
        (["--max-turns", "0"], "at least 1"),
        (["--max-turns", "-3"], "at least 1"),
        (["--max-turns", "many"], "'many' is no whole number"),
        (["--max-turns", "1.5"], "'1.5' is no whole number"),
        (["--max-cost", "free"], "'free' is no number"),
        (["--max-cost", "0"], "above 0"),
        (["--max-cost", "-1"], "above 0"),
        (["--max-cost", "nan"], "above 0"),
        (["--max-cost", "inf"], "above 0"),
        (["--permission-mode", "yolo"], "yolo"),
        (["a", "--model", "m", "b"], "b"),
        (["demo", "the", "feature"], "takes no prompt"),
        (["config", "the", "linter"], "the"),
        (["config", "--json"], "something to list"),
        (["completion"], "SHELL"),
        (["completion", "tcsh"], "tcsh"),
        (["doctor", "-p"], "-p"),
    ],
)
def test_wrong_usage(arguments: list[str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(arguments)
    assert says in caught.value.message
    assert caught.value.exit_code == 2
    assert "_positive" not in str(caught.value)


def test_the_demo_says_how_to_send_the_words() -> None:
    with pytest.raises(UsageError) as caught:
        parse(["demo", "the", "feature"])
    assert "mewcode -- demo the feature" in caught.value.hint
    assert parse(["--", "demo", "the", "feature"]).prompt == "demo the feature"


@pytest.mark.parametrize("flags", [["--cwd", "x"], ["--model", "m"], ["--plain"], ["-c"]])
@pytest.mark.parametrize(
    "words", [["sessions", "list"], ["sessions", "search", "x"], ["doctor"], ["prompt", "show"]]
)
def test_a_sub_command_behind_flags_is_not_sent_to_a_model(flags: list[str], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse([*flags, *words])
    assert f"{words[0]} is a sub-command" in caught.value.message
    assert parse([*flags, "--", *words]).prompt == " ".join(words)
    assert parse([*flags, "-p", *words]).prompt == " ".join(words)
    assert parse([*flags, words[0], "of my app is slow"]).prompt == f"{words[0]} of my app is slow"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_behind_two_dashes_every_word_is_the_prompts(words: list[str]) -> None:
    assert parse(["--", *words]) == Options(prompt=" ".join(words))


@given(
    st.lists(st.sampled_from(["-p", "-c", "-r", "--", "demo", "x", "--model", "--max-turns", "3", "", "-1"]))
)
def test_any_arguments_are_options_or_wrong_usage(arguments: list[str]) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(parse(arguments), Options)


@pytest.mark.parametrize("flag", ["--version", "--help", "-h"])
def test_what_only_tells(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse([flag])
    assert caught.value.code == 0
    told = capsys.readouterr()
    assert told.err == ""
    if flag == "--version":
        assert told.out == f"mewcode {__version__}\n"
    else:
        assert "Exit codes" in told.out
        assert set(re.findall(r"--[a-z-]+", told.out)) >= {
            "--fork-session",
            "--permission-mode",
            "--max-cost",
        }


# What a start makes of errors.


def _starting(monkeypatch: pytest.MonkeyPatch, error: BaseException | int) -> None:
    def start(options: Options) -> int:
        if isinstance(error, int):
            return error
        raise error

    monkeypatch.setattr("mewcode.app.start", start)


def test_the_exit_code_is_the_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    _starting(monkeypatch, 75)
    assert run(["-p", "x"]) == 75


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("wrong", "do that"), 2),
        (SessionError("gone", "do that"), 1),
        (MewCodeError("bad", "do that"), 1),
    ],
)
def test_an_error_is_told_in_its_own_words(
    error: MewCodeError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _starting(monkeypatch, error)
    assert run(["x"]) == code
    assert capsys.readouterr() == ("", f"mewcode: {error.message}\ndo that\n")


def test_verbose_adds_the_trace(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _starting(monkeypatch, UsageError("wrong"))
    assert run(["x", "--verbose"]) == 2
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.endswith("mewcode: wrong\n")


def test_an_error_that_quotes_a_server_moves_no_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _starting(monkeypatch, MewCodeError("it said \x1b[2J\x1b]0;title\x07hello"))
    assert run(["x"]) == 1
    assert capsys.readouterr().err == "mewcode: it said hello\n"


def test_ctrl_c_ends_without_a_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _starting(monkeypatch, KeyboardInterrupt())
    assert run(["x"]) == 130
    assert capsys.readouterr() == ("", "")


def test_wrong_usage_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _starting(monkeypatch, RuntimeError("started"))
    assert run(["--nonsense"]) == 2
    assert "mewcode --help" in capsys.readouterr().err


def test_the_epilog_names_each_sub_command() -> None:
    named = re.findall(r"^  mewcode (\w+)", cli._EPILOG, re.MULTILINE)
    assert sorted(named) == sorted([*cli._COMMANDS, "demo"])
    for name in named:
        first = {
            "completion": "bash", "sessions": "list", "memory": "list", "knowledge": "list", "prompt": "show",
            "eval": "recall --dataset x",
        }.get(name, "")  # fmt: skip
        words = first.split()
        assert parse([name, *words]).prompt is None
        assert parse(["--", name]).prompt == name
