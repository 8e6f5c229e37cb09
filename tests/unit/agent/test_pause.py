"""What a model is told of a long pause."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode.agent.git_look import run_git
from mewcode.agent.pause import Pause
from mewcode.agent.surroundings import Surroundings
from mewcode.config.load import LoadedConfig
from mewcode.infra.paths import find_places
from mewcode.tools.read_table import ReadTable
from tests.support.scripted_provider import ScriptedProvider

DAY = 86_400.0
WORDS = "files may have changed: read again what you rely on."


def around(root: Path, *, trusted: bool = False) -> Surroundings:
    environ = {"HOME": str(root.parent), "PATH": os.environ["PATH"], "GIT_DIR": "/nonexistent"}
    places = find_places(root, environ)
    loaded: Any = LoadedConfig
    return Surroundings(places, environ, loaded, trusted, tuple, lambda service: ScriptedProvider())


def told(
    root: Path, seconds: float, reads: dict[str, Any] | None = None, *, trusted: bool = False
) -> list[str]:
    """The lines of the reminder, once all is found out."""
    pause = Pause.begin(seconds, reads or {}, around(root, trusted=trusted))
    for thread in threading.enumerate():
        if thread.name == "since-pause":
            thread.join(20)
    return asyncio.run(pause.reminder()).split("\n")


def git(root: Path, *words: str, ago: float = 0.0) -> None:
    moment = f"@{int(time.time() - ago)} +0000"
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(root.parent),
        "GIT_COMMITTER_DATE": moment,
        "GIT_AUTHOR_DATE": moment,
    }
    settings = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *settings, *words], cwd=root, env=environ, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(root: Path) -> Path:
    """Two commits, one before the last day and one within it, and a file that is not committed."""
    git(root, "init", "-q")
    for name, ago in (("old", 3 * DAY), ("new 看", DAY / 2)):
        (root / f"{name}.txt").write_text(name, encoding="utf-8")
        git(root, "add", f"{name}.txt")
        git(root, "commit", "-q", "-m", f"add {name} <b>", ago=ago)
    (root / "loose.txt").write_text("x")
    return root


@pytest.mark.parametrize(
    ("seconds", "span"),
    [
        (7 * 3_600, "7 hours"),
        (DAY, "24 hours"),
        (3 * DAY, "3 days"),
        (400 * DAY, "400 days"),
        (3_600, "an hour"),
    ],
)
def test_how_long(seconds: float, span: str, root: Path) -> None:
    assert told(root, seconds) == [f"This session was paused for {span}; {WORDS}"]


@pytest.mark.parametrize("trusted", [False, True])
def test_what_git_says(trusted: bool, repository: Path) -> None:
    lines = told(repository, DAY, trusted=trusted)
    assert lines[1] == "Commits since then, as git tells them:"
    assert lines[2].endswith("add new 看 ‹b›")
    assert lines[3:] == ["Not committed now, as git tells it:", "- ?? loose.txt"]


def test_in_a_repository_that_names_programs_none_is_run(repository: Path) -> None:
    mark = repository.parent / "ran"
    git(repository, "config", "core.fsmonitor", f"touch {mark}; false")
    git(repository, "config", "log.showSignature", "true")
    git(repository, "config", "gpg.program", f"touch {mark}; false")
    lines = told(repository, DAY)
    assert lines[1] == "Commits since then, as git tells them:"
    assert len(lines) == 3  # out of git's own record, a file
    assert lines[2].endswith("commit: add new 看 ‹b›")
    assert not mark.exists()


def test_a_program_of_the_project_is_not_taken_for_git(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = repository.parent / "ran"
    (repository / "git").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (repository / "git").chmod(0o755)
    monkeypatch.chdir(repository)
    here = around(repository, trusted=True)
    for path in (f":{os.environ['PATH']}", ".", ""):
        run_git(replace(here, environ={"PATH": path}), ("status",), time.monotonic() + 20)
    assert not mark.exists()


def test_without_git_its_record_is_read(repository: Path) -> None:
    here = around(repository, trusted=True)
    pause = Pause.begin(DAY, {}, replace(here, environ={"PATH": "/nonexistent"}))
    assert pause._done.wait(20)
    assert asyncio.run(pause.reminder()).endswith("commit: add new 看 ‹b›")


def test_many_commits_and_changes_are_bounded(repository: Path) -> None:
    for number in range(12):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"c{number}")
    for number in range(30):
        (repository / f"f{number:02}").write_text("x")
    lines = told(repository, DAY)
    at = lines.index("Not committed now, as git tells it:")
    assert (len(lines[2:at]), len(lines[at + 1 :])) == (10, 21)
    assert lines[-1] == "- and 11 more"


def test_files_that_were_read_and_are_different_now(root: Path) -> None:
    table = ReadTable()
    for name in ("same", "changed", "gone"):
        path = root / name
        path.write_text(name)
        table.note(path, path.stat(), name.encode())
    (root / "changed").write_text("another")
    (root / "gone").unlink()
    lines = told(root, DAY, table.export())
    assert lines[1:] == ["Files that you had read and that are different now:", "- changed", "- gone (gone)"]


def test_who_asks_too_early_gets_the_length_alone(root: Path) -> None:
    pause = Pause(DAY)
    assert asyncio.run(pause.reminder()) == f"This session was paused for 24 hours; {WORDS}"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    reads=st.dictionaries(
        st.text(), st.one_of(st.none(), st.integers(), st.dictionaries(st.text(), st.text()))
    )
)
def test_no_record_is_too_strange(reads: dict[str, Any], root: Path) -> None:
    lines = told(root, DAY, reads)
    assert lines[0].endswith(WORDS)
    assert len(lines) <= 23
    assert not any(mark in "".join(lines) for mark in "<>\x1b\r")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=st.binary(max_size=400))
def test_no_record_of_git_is_too_strange(log: bytes, root: Path) -> None:
    logs = root / ".git" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "HEAD").write_bytes(b"0 1 n <e> 99999999999 +0000\t" + log)
    lines = told(root, DAY)
    assert lines[0].endswith(WORDS)
    assert not any(mark in "".join(lines) for mark in "<>\x1b\r")
