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
from mewcode.completion.grammar import read_grammars
from mewcode.completion.values import print_values
from mewcode.completion.zsh import zsh_script
from mewcode.core.access import MODES

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
        ("mewcode ", ["config", "doctor", "sessions", "completion", "demo"]),
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
