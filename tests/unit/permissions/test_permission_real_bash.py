"""What the policy says against what bash does: allowed commands are run, and nothing else may happen."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from permission_attacks import ATTACKS

BASH = shutil.which("bash") or "bash"

_FROM_GRAMMAR = """
    git a status rm `x` $( ) ` " ' \\ ; & && | || < > 2>&1 { } ( $(( )) $X ${X:- # ! if then fi else for
    i in do done case esac [[ ]] X= - * ? [ ] ~ $' <<< <( @( a() : &> |& >& <<EOF EOF = time coproc eval
    cd src
"""
_PHRASES = [" ", " ", "\n", "\t", "; ", " | ", "\nEOF\n", "<<'EOF'\n", "\\\n", " touch f ", " rm x "]
TOKENS = [*_FROM_GRAMMAR.split(), *_PHRASES]
# Those without a path elsewhere and without a loop that could go on for ever.
SEEDS = [
    command
    for command, _, _ in ATTACKS
    if len(command) < 80 and not any(part in command for part in ("/", "..", "~", "while", "until", "\0"))
]
STUBS = ["git", "touch", "rm", "a", "x", "f", "status", "EOF", "i", "sh", "sudo", "env", "xargs", "tee"]


def run(command: str, folder: Path, **environment: str) -> None:
    subprocess.run(
        [BASH, "-c", command],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for real runs, and a PATH on which git does nothing and anything else leaves a mark."""
    top = tmp_path_factory.mktemp("stage")
    (top / "bin").mkdir()
    for name in STUBS:
        stub = top / "bin" / name
        stub.write_text("#!/bin/sh\n" + ("exit 0\n" if name == "git" else 'echo ran > "$MARK"\n'))
        stub.chmod(0o755)
    return top


def harm_done(command: str, stage: Path) -> bool:
    """Whether running it ran another program than git, or made a file."""
    folder = stage / "run"
    (folder / "src").mkdir(parents=True)
    try:
        run(command, folder, PATH=str(stage / "bin"), MARK=str(folder / "mark"), HOME=str(folder))
        return os.listdir(folder) != ["src"]
    finally:
        shutil.rmtree(folder)


def test_harm_would_be_seen(stage: Path) -> None:
    assert all(harm_done(command, stage) for command in ("git; rm x", "git > f", "git $(touch f)"))
    assert not harm_done("git status", stage)


@pytest.mark.parametrize("command", SEEDS)
def test_the_table_of_attacks_holds_in_real_bash(decide, stage: Path, command: str) -> None:
    if decide(command, "bash(git *)") == "allow":
        assert not harm_done(command, stage)


@given(
    seed=st.sampled_from(["git ", "git status", *SEEDS]),
    pieces=st.lists(st.tuples(st.integers(0, 60), st.sampled_from(TOKENS)), max_size=7),
)
@settings(max_examples=500, deadline=None)
def test_what_a_rule_covers_runs_nothing_else(decide, stage: Path, seed: str, pieces) -> None:
    command = seed
    for at, token in pieces:
        command = command[:at] + token + command[at:]
    if decide(command, "bash(git *)") == "allow":
        assert not harm_done(command, stage)


_PROGRAMS = """
    ls cat head tail wc grep rg echo printf pwd sort uniq cut tr diff stat file find sed date test [ git
    basename du nl cmp comm readlink realpath seq which id command cd :
"""
_ARGUMENTS = """
    a.txt src new src/main.py -o -n -r -R -i -s -a -f -c -w -of -e -d -t -x -u --output=new --output
    --pre=touch --pre -delete -exec {} ; -name -fprint +%F 1p w;new 1,2p foo %s ] -v log diff status
    branch show -m -D -- - -k 1 --color --max-count=1 --compress-program=touch --files0-from=a.txt -ok +
    -print -type ! = -b --recursive --list -C -O -g 2020 0101 -z --ext-diff --textconv --no-pager
    --output-directory=x -fls -I -P -L --null HEAD
"""


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with history; git's own folder is left out of what is compared (the index is refreshed)."""
    root = tmp_path_factory.mktemp("repository")
    (root / "src").mkdir()
    (root / "a.txt").write_text("foo\nbar\n")
    (root / "src/main.py").write_text("pass\n")
    if git := shutil.which("git"):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "one"]):
            subprocess.run([git, *words], cwd=root, check=True, capture_output=True)
    else:
        (root / ".git").mkdir()
    return root


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in folder.rglob("*"):
        if ".git" not in path.parts:
            state = path.lstat()
            found[str(path)] = (
                state.st_mode,
                state.st_mtime_ns,
                path.read_bytes() if path.is_file() else b"",
            )
    return found


@given(
    st.sampled_from(_PROGRAMS.split()), st.lists(st.sampled_from([*_ARGUMENTS.split(), "w new"]), max_size=5)
)
@settings(max_examples=150, deadline=None)
def test_what_is_free_changes_nothing(repository: Path, name: str, arguments: list[str]) -> None:
    from mewcode.core.access import CommandAccess
    from mewcode.permissions.policy import Policy

    command = " ".join([name, *map(shlex.quote, arguments)])
    policy = Policy(repository, home=repository / "home", user_dir=repository / "home/m", trusted_folder=True)
    assume(policy.judge("bash", False, [CommandAccess(command, str(repository))]).decision == "allow")
    before = snapshot(repository)
    run(command, repository, HOME=str(repository), GIT_PAGER="cat")
    assert snapshot(repository) == before
    branches = os.listdir(repository / ".git/refs/heads") if (repository / ".git/refs/heads").exists() else []
    assert len(branches) <= 1
