"""The completion scripts: made from the parsers, taken by their shells."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mewcode.cli import SHELLS, parsers
from mewcode.completion.bash import bash_script
from mewcode.completion.fish import fish_script
from mewcode.completion.grammar import _BEHIND, read_grammars
from mewcode.completion.values import print_values
from mewcode.completion.zsh import zsh_script
from mewcode.core.access import MODES
from mewcode.infra.paths import find_places
from mewcode.memory.changes import Create
from mewcode.memory.note import Note
from mewcode.note_source import open_notes
from mewcode.sessions.browse import update
from mewcode.sessions.record import encode_record, title_record
from tests.support.archive import make_session, said

GRAMMARS = read_grammars(parsers())
SCRIPTS = {"bash": bash_script(GRAMMARS), "zsh": zsh_script(GRAMMARS), "fish": fish_script(GRAMMARS)}
# Where a shell is not installed, its script is checked for what it holds only.
INSTALLED = [shell for shell in SHELLS if shutil.which(shell)]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_flag_choice_and_sub_command_is_in_it(shell: str) -> None:
    script = SCRIPTS[shell]
    for name, grammar in GRAMMARS.items():
        assert name in script
        for option in grammar.options:
            for flag in option.flags:
                bare = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                assert (bare if shell == "fish" else flag) in script
            assert all(word in script for word in option.words)
    assert all(mode in script for mode in MODES)
    assert "__complete" in script


@pytest.mark.parametrize("shell", INSTALLED)
def test_its_shell_takes_it(shell: str, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text(SCRIPTS[shell])
    done = subprocess.run([shell, "-n", path], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def completed(line: str, tmp_path: Path) -> list[str]:
    """What the function for bash offers behind ``line``; words are split as readline does."""
    words = line.replace("=", " = ").split(" ")
    words = [word for number, word in enumerate(words) if word or number == len(words) - 1]
    script = f'{SCRIPTS["bash"]}\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1))\n_mewcode\n'
    script += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words],
        capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("mewcode --per", ["--permission-mode"]),
        ("mewcode --permission-mode ", list(MODES)),
        ("mewcode --permission-mode=", list(MODES)),
        ("mewcode --permission-mode=pl", ["plan"]),
        ("mewcode -p --output-format s", ["stream-json"]),
        (
            "mewcode ",
            [
                "config",
                "doctor",
                "sessions",
                "memory",
                "knowledge",
                "instructions",
                "prompt",
                "eval",
                "completion",
                "demo",
            ],
        ),
        ("mewcode config ", ["show", "path"]),
        ("mewcode config show --j", ["--json"]),
        ("mewcode completion ", list(SHELLS)),
        ("mewcode doctor --perm", []),
        ("mewcode --max-turns ", []),
        ("mewcode --cwd s", ["sub"]),
        ("mewcode demo --ver", ["--verbose", "--version"]),
        ("mewcode -r --fo", ["--fork-session"]),
    ],
)
def test_what_bash_offers(line: str, offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "some-file").touch()
    assert completed(line, tmp_path) == offered


@pytest.mark.parametrize(
    ("line", "offered", "rule"),
    [
        ("mewcode --perm", "--permission-mode", "'__mewcode_in main' -l permission-mode "),
        (
            "mewcode --permission-mode pl",
            "plan",
            "'__mewcode_in main' -l permission-mode -x -a 'default accept-edits plan ",
        ),
        ("mewcode doc", "doctor", "'__mewcode_first 1' -a doctor "),
        ("mewcode config s", "show", "'__mewcode_in config; and __mewcode_first 2' -a show"),
        ("mewcode doctor --j", "--json", "'__mewcode_in doctor' -l json "),
    ],
)
def test_what_fish_offers(line: str, offered: str, rule: str, tmp_path: Path) -> None:
    assert f"\ncomplete -c mewcode -n {rule}" in SCRIPTS["fish"]
    if "fish" not in INSTALLED:
        return
    (tmp_path / "script").write_text(SCRIPTS["fish"])
    ask = f"source {tmp_path}/script; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", ask],
        capture_output=True, text=True, timeout=30, check=False,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert [item.split("\t")[0] for item in done.stdout.splitlines()] == [offered], done.stderr


def program_that_completes(folder: Path) -> dict[str, str]:
    """An environment in which ``mewcode`` names the kind it is asked for, and what a shell must not run."""
    program = folder / "bin" / "mewcode"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nshift\nprintf 'one-%s\\ttitle\\n' \"$@\"\n")
    program.chmod(0o755)
    return {"HOME": str(folder), "PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("mewcode sessions show ", "sessions"),
        ("mewcode sessions pin x ", "sessions"),
        ("mewcode sessions rename x ", ""),
        ("mewcode sessions restore ", "trashed"),
        ("mewcode sessions search ", ""),
        ("mewcode memory show ", "notes"),
        ("mewcode memory forget x ", "notes"),
        ("mewcode memory pin x ", "notes"),
        ("mewcode memory why ", "sessions"),
        ("mewcode memory add ", ""),
        ("mewcode knowledge search ", ""),
    ],
)
@pytest.mark.parametrize("shell", INSTALLED)
def test_sessions_are_offered_where_one_is_named(shell: str, line: str, kind: str, tmp_path: Path) -> None:
    env = program_that_completes(tmp_path)
    (tmp_path / "script").write_text(SCRIPTS[shell])
    words = line.split(" ")
    if shell == "bash":
        ask = f'source {tmp_path}/script; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _mewcode'
        argv = ["bash", "-c", ask + '; printf "%s\\n" "${COMPREPLY[@]}"', "bash", *words]
    elif shell == "zsh":  # as `_mewcode` and `_arguments` call it: without the command's own name
        ask = 'compdef() {}; compadd() { print -l -- $found }; words=("$@") CURRENT=$#; source '
        argv = ["zsh", "-f", "-c", f"{ask}{tmp_path}/script; _mewcode_behind_{words[1]}", "zsh", "mewcode"]
        argv += words[2:]
    else:
        argv = ["fish", "--no-config", "-c", f"source {tmp_path}/script; complete -C '{line}'"]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=30, check=False, env=env, cwd=tmp_path
    )
    offered = [item.split("\t")[0] for item in done.stdout.split("\n")]
    assert (f"one-{kind}" in offered) == bool(kind), (done.stdout, done.stderr)
    assert any(item.startswith("one-") for item in offered) == bool(kind)


@pytest.mark.parametrize("command", list(_BEHIND))
def test_what_may_stand_behind_a_word_is_said_of_words_there_are(command: str) -> None:
    grammar = GRAMMARS[command]
    assert {item.word for item in grammar.behind} == set(_BEHIND[command]) <= set(grammar.words)


def test_notes_are_offered_by_file_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert print_values(["notes"]) == 0
    assert list(tmp_path.iterdir()) == []
    notes = open_notes(find_places(tmp_path, os.environ), os.environ)
    made = [
        Create(Note(name=name, type="project_knowledge", level="project", body="x"))
        for name in ("A b", "部署")
    ]
    notes.apply(made, by="user")
    print_values(["notes", "described"])
    assert capsys.readouterr().out == "project_knowledge_a-b\tA b\nproject_knowledge_部署\t部署\n"


def test_titles_are_offered_too_and_only_plain_ones_to_bash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions = tmp_path / ".mewcode" / "sessions"
    titles = {"aaaa": "parser-fix", "bbbb": "$(touch x)", "cccc": "The big 会话", "dddd": "重构"}
    for name, title in titles.items():
        make_session(
            sessions, f"20261130-120000-{name}", said("u", "x"), encode_record(title_record(title, ts=2))
        )
    make_session(sessions, "20261130-120000-eeee", said("u", "first\tprompt"))
    monkeypatch.chdir(tmp_path)
    update(find_places(tmp_path, os.environ), lambda: False)
    print_values(["sessions"])
    assert sorted(capsys.readouterr().out.split("\n")[:-1]) == sorted([
        *(f"20261130-120000-{name}" for name in (*titles, "eeee")), "parser-fix", "重构",
    ])  # fmt: skip
    print_values(["sessions", "described"])
    lines = capsys.readouterr().out.split("\n")
    assert "20261130-120000-eeee\tfirst prompt" in lines
    assert "The big 会话\t20261130-120000-cccc" in lines


def test_trashed_sessions_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert print_values(["trashed"]) == 0
    for name in ("20261129-120000-aaaa", "20261129-120000-aaaa.2", "; rm"):
        (tmp_path / ".mewcode/sessions/trash" / name).mkdir(parents=True)
    assert print_values(["trashed"]) == 0
    assert capsys.readouterr().out.split() == ["20261129-120000-aaaa.2", "20261129-120000-aaaa"]


def test_sessions_are_those_of_the_folder_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("20261129-120000-aaaa", "20261130-120000-bbbb", "a; rm -rf x", "$(touch x)"):
        (tmp_path / ".mewcode/sessions" / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert print_values(["sessions"]) == 0
    assert capsys.readouterr().out.split() == ["20261130-120000-bbbb", "20261129-120000-aaaa"]


def test_providers_are_the_known_and_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEWCODE_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text("providers: {work: {base_url: 'http://h/v1'}}\n")
    assert print_values(["providers"]) == 0
    found = capsys.readouterr().out.split()
    assert found[:2] == ["anthropic", "openai"]
    assert {"deepseek", "work"} <= set(found)
    (tmp_path / "config.yaml").write_text("nonsense: [\n")
    assert print_values(["providers"]) == 0
    assert "work" not in capsys.readouterr().out


def test_what_is_unknown_has_no_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert (print_values([]), print_values(["x"]), print_values(["models"])) == (0, 0, 0)
    assert "claude-opus-5-5" in capsys.readouterr().out
