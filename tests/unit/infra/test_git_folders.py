"""Which work tree is the main one, whatever the files of git say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mewcode.infra.git_folders import common_dir, main_work_tree, read_pointer


def linked(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A main work tree, a linked one, and the linked one's own folder of git."""
    main, tree = tmp_path / "main", tmp_path / "tree"
    own = main / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{tree / '.git'}\n")
    return main, tree, own


def test_a_linked_work_tree_belongs_to_the_main_one(tmp_path: Path) -> None:
    main, tree, _ = linked(tmp_path)
    assert main_work_tree(tree) == main
    assert main_work_tree(main) == main
    assert common_dir(tree) == common_dir(main) == main / ".git"


def test_no_repository_is_its_own(tmp_path: Path) -> None:
    assert main_work_tree(tmp_path) == tmp_path
    assert common_dir(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gitdir", "/nowhere/.git"), ("gitdir", ""), ("commondir", ""), ("commondir", "/nowhere"),
        ("commondir", "\0"), ("commondir", ".."),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_no_work_tree(tmp_path: Path, name: str, content: str) -> None:
    _, tree, own = linked(tmp_path)
    (own / name).write_text(content)
    assert main_work_tree(tree) == tree


def test_odd_files_are_no_pointers(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "long").write_text("x" * 9000)
    assert [read_pointer(tmp_path / name) for name in ("fifo", "folder", "none")] == ["", "", ""]
    assert len(read_pointer(tmp_path / "long")) == 4096
