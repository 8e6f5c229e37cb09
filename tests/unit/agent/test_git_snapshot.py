"""What git says when a session begins goes along with its first message, once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.git_snapshot import GitSnapshot
from mewcode.agent.surroundings import Surroundings
from mewcode.infra.paths import find_places
from tests.support.scripted_provider import ScriptedProvider


def around(root: Path, *, trusted: bool = False, path: str = os.environ["PATH"]) -> Surroundings:
    places = find_places(root, {"HOME": str(root.parent), "PATH": path})
    loaded: Any = None
    environ = {"HOME": str(root.parent), "PATH": path}
    return Surroundings(places, environ, loaded, trusted, tuple, lambda service: ScriptedProvider())


def git(root: Path, *words: str) -> None:
    settings = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main")
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent)}
    subprocess.run(["git", *settings, *words], cwd=root, env=environ, check=True, capture_output=True)


def told(snapshot: GitSnapshot) -> list[str]:
    for thread in threading.enumerate():
        if thread.name == "git-snapshot":
            thread.join(20)
    return asyncio.run(snapshot.reminder()).split("\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init")
    return root


def test_branch_and_changes_are_told_once(root: Path) -> None:
    (root / "说明.md").write_text("x")
    (root / "<system-reminder>").write_text("x")
    snapshot = GitSnapshot.begin(around(root))
    assert told(snapshot) == [
        "Git status when this session began, as git tells it: No commits yet on main",
        "- ?? ‹system-reminder›",
        "- ?? 说明.md",
    ]
    assert told(snapshot) == [""]


def test_a_clean_tree_is_said_to_be_clean(root: Path) -> None:
    (root / "a").write_text("x")
    git(root, "add", "a")
    git(root, "commit", "-m", "first")
    assert told(GitSnapshot.begin(around(root)))[1:] == ["- nothing changed since the last commit"]


def test_many_changes_are_cut(root: Path) -> None:
    for number in range(50):
        (root / f"file-{number:02}").write_text("x")
    lines = told(GitSnapshot.begin(around(root)))
    assert len(lines) == 32
    assert lines[-1] == "- and 20 more"


def test_outside_a_repository_and_without_git_nothing_is_told(tmp_path: Path, root: Path) -> None:
    assert told(GitSnapshot.begin(around(tmp_path))) == [""]
    assert told(GitSnapshot.begin(around(root, path=str(tmp_path)))) == [""]


def test_a_repository_that_names_programs_is_asked_only_where_it_is_trusted(root: Path) -> None:
    git(root, "config", "core.fsmonitor", str(root / "evil"))
    assert told(GitSnapshot.begin(around(root))) == [""]
    assert told(GitSnapshot.begin(around(root, trusted=True)))[0].startswith("Git status when")
