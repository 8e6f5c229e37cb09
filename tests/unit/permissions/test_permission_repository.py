"""Which repositories git's read-only commands run nothing in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mewcode.permissions.repository import is_plain_repository


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with a commit of its own, as git makes it."""
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "-q")
    (source / "a.txt").write_text("one\n")
    git(source, "add", ".")
    git(source, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "one")
    git(tmp_path, "clone", "-q", str(source), "clone")
    git(tmp_path / "clone", "config", "user.name", "B")
    return tmp_path / "clone"


def test_a_clone_is_plain(clone: Path) -> None:
    assert is_plain_repository(clone)


def test_no_repository_is_not(tmp_path: Path) -> None:
    assert not is_plain_repository(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "touch pwned"),
        ("core.pager", "sh -c x"),
        ("core.hooksPath", "hooks"),
        ("core.sshCommand", "x"),
        ("core.worktree", "/"),
        ("alias.status", "!x"),
        ("diff.x.textconv", "x"),
        ("diff.external", "x"),
        ("filter.x.clean", "x"),
        ("include.path", "other"),
        ("includeIf.gitdir:/.path", "other"),
        ("gpg.program", "x"),
        ("log.showSignature", "true"),
        ("remote.origin.uploadpack", "x"),
    ],
)
def test_a_setting_that_may_run_something_is_not_plain(clone: Path, key: str, value: str) -> None:
    git(clone, "config", key, value)
    assert not is_plain_repository(clone)


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tbare = false \\\n",
        "[core] fsmonitor = x\n",
        "[core\n",
        "fsmonitor = x\n",
        "[core]\n\xff\n",
        "[a]b=c\n",
    ],
)
def test_what_is_not_understood_is_not_plain(clone: Path, text: str) -> None:
    (clone / ".git/config").write_bytes(text.encode("latin-1"))
    assert not is_plain_repository(clone)


def test_a_hook_a_submodule_or_a_link_is_not_plain(clone: Path, tmp_path: Path) -> None:
    hook = clone / ".git/hooks/post-index-change"
    hook.write_text("#!/bin/sh\n")
    assert not is_plain_repository(clone)
    hook.unlink()
    assert is_plain_repository(clone)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True
    ).stdout.strip()
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    assert not is_plain_repository(clone)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(clone / ".git")
    assert not is_plain_repository(linked)


def test_a_config_or_an_index_elsewhere_is_not_plain(clone: Path, tmp_path: Path) -> None:
    """git reads config and hooks from where ``commondir`` leads, and entries from a shared index."""
    moved = clone / ".git/commondir"
    moved.write_text("../common\n")
    assert not is_plain_repository(clone)
    moved.unlink()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True
    ).stdout.strip()
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    git(clone, "update-index", "--split-index")
    assert b"\x00\x00\xe0\x00" not in (clone / ".git/index").read_bytes()
    assert not is_plain_repository(clone)
