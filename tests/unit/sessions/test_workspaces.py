"""Which workspaces are known, and which work trees belong together."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_strategies import user

from mewcode.infra.paths import find_places
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.workspaces import (
    WORKSPACES,
    cache_path,
    known_roots,
    make_project,
    remember_root,
    work_trees,
    workspace_of,
)


def places_in(tmp_path: Path, name: str):
    root = tmp_path / name
    root.mkdir(exist_ok=True)
    return find_places(root, {"HOME": str(tmp_path / "home")})


def begin(places) -> None:
    writer = SessionWriter.create(
        places.project / "sessions", cwd=places.cwd, provider="p", model="m", mode="default",
        prepare=lambda: make_project(places, trusted=False),
    )  # fmt: skip
    writer.append(user("u"))
    writer.close()


def test_a_workspace_is_listed_with_its_first_session_and_only_then(tmp_path):
    one, two = places_in(tmp_path, "one"), places_in(tmp_path, "会话 two")
    assert known_roots(one.user) == []
    for places in (one, one, two, one):
        begin(places)
    path = one.user / WORKSPACES
    assert [json.loads(line)["root"] for line in path.read_text("utf-8").splitlines()] == [
        str(one.root), str(two.root),
    ]  # fmt: skip
    assert path.stat().st_mode & 0o077 == 0
    assert known_roots(one.user) == [two.root, one.root]


def test_a_list_that_cannot_be_written_stops_no_start(tmp_path):
    places = places_in(tmp_path, "one")
    (places.user / WORKSPACES).mkdir(parents=True)
    begin(places)
    assert len(list((places.project / "sessions").iterdir())) == 1
    assert known_roots(places.user) == []


def test_what_is_no_workspace_is_passed_over(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / WORKSPACES).write_bytes(
        b"\n".join([
            json.dumps({"root": str(tmp_path / "there")}).encode(),
            b"null", b"[]", b"{}", b'{"root": 5}', b'{"root": "relative"}', b'{"root": "/\\u0000"}', b"\xff",
            json.dumps({"root": str(tmp_path / "gone")}).encode(),
            json.dumps({"root": str(tmp_path / "file")}).encode(),
            json.dumps({"root": str(tmp_path / "there")}).encode(),
            b'{"root": "/to',
        ])
    )  # fmt: skip
    assert known_roots(tmp_path) == [tmp_path / "there"]
    (tmp_path / "next").mkdir()
    remember_root(tmp_path, tmp_path / "next", now=2)
    assert known_roots(tmp_path) == [tmp_path / "next", tmp_path / "there"]


def test_a_list_of_any_length_is_read_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("mewcode.sessions.workspaces._LIST_LIMIT", 200)
    for number in range(20):
        (tmp_path / f"root-{number:02}").mkdir()
        remember_root(tmp_path, tmp_path / f"root-{number:02}", now=number)
    found = known_roots(tmp_path)
    assert found[0].name == "root-19"
    assert 0 < len(found) < 5


@settings(max_examples=60)
@given(st.lists(st.one_of(st.binary(max_size=30), st.just(b'{"root": "/"}'), st.just(b"\n")), max_size=6))
def test_any_bytes_are_a_list(pieces):
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / WORKSPACES).write_bytes(b"".join(pieces))
        assert known_roots(Path(name)) in ([], [Path("/")])


def test_the_home_folder_is_a_workspace_too(tmp_path):
    user_dir = tmp_path / ".mewcode"
    assert workspace_of(tmp_path, user_dir).sessions_dir == user_dir / "home-project" / "sessions"
    assert workspace_of(tmp_path / "x", user_dir).sessions_dir == tmp_path / "x" / ".mewcode" / "sessions"


def repository(tmp_path: Path, *trees: str) -> Path:
    """A repository with linked work trees, as git lays its files out."""
    main = tmp_path / "main"
    (main / ".git").mkdir(parents=True)
    (main / ".mewcode" / "sessions").mkdir(parents=True)
    for name in trees:
        own = main / ".git" / "worktrees" / name
        own.mkdir(parents=True)
        tree = tmp_path / name
        (tree / ".mewcode" / "sessions").mkdir(parents=True)
        (own / "gitdir").write_text(f"{tree}/.git\n")
        (own / "commondir").write_text("../..\n")
        (tree / ".git").write_text(f"gitdir: {own}\n")
    return main


def test_work_trees_of_one_repository_know_each_other(tmp_path):
    main = repository(tmp_path, "one", "two")
    assert work_trees(main) == [tmp_path / "one", tmp_path / "two"]
    assert work_trees(tmp_path / "one") == [main, tmp_path / "two"]
    assert work_trees(tmp_path) == []


def test_relative_pointers_are_followed(tmp_path):
    main = repository(tmp_path, "one")
    (tmp_path / "one" / ".git").write_text("gitdir: ../main/.git/worktrees/one")
    (main / ".git" / "worktrees" / "one" / "gitdir").write_text("../../../../one/.git")
    assert work_trees(main) == [tmp_path / "one"]
    assert work_trees(tmp_path / "one") == [main]


@pytest.mark.parametrize(
    "pointer", ["", "\0", "/", "/nonexistent/.git", "{other}/.git", "x" * 5000, "../" * 100, "loop/.git"]
)
def test_what_git_files_say_is_not_believed(tmp_path, pointer):
    main = repository(tmp_path, "one")
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".mewcode" / "sessions").mkdir(parents=True)
    loop = main / ".git" / "worktrees" / "one" / "loop"
    loop.symlink_to(loop)
    (main / ".git" / "worktrees" / "one" / "gitdir").write_text(pointer.format(other=other))
    assert work_trees(main) == []
    (tmp_path / "one" / ".git").write_text("gitdir: " + pointer.format(other=other))
    assert main not in work_trees(tmp_path / "one")


def test_a_work_tree_without_sessions_or_that_is_gone_is_none(tmp_path):
    main = repository(tmp_path, "one", "two")
    (tmp_path / "one" / ".mewcode" / "sessions").rmdir()
    os.rename(tmp_path / "two", tmp_path / "moved")
    assert work_trees(main) == []


def test_each_folder_has_a_cache_of_its_own(tmp_path):
    assert cache_path(tmp_path / "a") != cache_path(tmp_path / "b")
    assert cache_path(tmp_path / "a") == cache_path(tmp_path / "b" / ".." / "a")
    assert cache_path(tmp_path / "a").suffix == ".sqlite"
