"""A file goes back into an earlier state whole or not at all, and stays the file that it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mewcode.agent.restoring import Target, find_target, restore
from mewcode.core.errors import ToolError
from mewcode.sessions.checkpoint_log import FileState
from mewcode.sessions.checkpoint_store import CheckpointStore, observe


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    (tmp_path / "session").mkdir()
    return CheckpointStore(tmp_path / "session/checkpoints")


def kept(path: Path, store: CheckpointStore) -> Target:
    """What stands at ``path`` now, as it would be restored."""
    found = find_target(observe(str(path), store), str(path), path.parent, store)
    assert isinstance(found, Target)
    return found


def test_content_and_mode_come_back(tmp_path: Path, store: CheckpointStore) -> None:
    path = tmp_path / "文.sh"
    path.write_bytes(b"\x00binary\r\n")
    path.chmod(0o750)
    target = kept(path, store)
    path.write_bytes(b"other")
    path.chmod(0o644)
    assert not target.stands(observe(str(path)))
    restore(target, path, "shown")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\x00binary\r\n", 0o750)
    assert target.stands(observe(str(path)))
    path.unlink()
    restore(target, path, "shown")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\x00binary\r\n", 0o750)


def test_the_mode_alone_leaves_the_file_untouched(tmp_path: Path, store: CheckpointStore) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    target, inode = kept(path, store), path.stat().st_ino
    path.chmod(0o600)
    restore(target, path, "shown")
    assert (path.stat().st_mode & 0o777, path.stat().st_ino) == (target.state.mode, inode)


def test_hard_links_stay_one_file(tmp_path: Path, store: CheckpointStore) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"1")
    other.hardlink_to(path)
    target = kept(path, store)
    path.write_bytes(b"2")
    restore(target, path, "shown")
    assert other.read_bytes() == b"1"


def test_links_and_files_replace_each_other(tmp_path: Path, store: CheckpointStore) -> None:
    path, outside = tmp_path / "a", tmp_path / "outside"
    outside.write_bytes(b"untouched")
    path.symlink_to("outside")
    link = kept(path, store)
    path.unlink()
    path.write_bytes(b"1")
    file = kept(path, store)
    restore(link, path, "shown")
    assert os.readlink(path) == "outside"
    restore(file, path, "shown")
    assert not path.is_symlink()
    assert path.read_bytes() == b"1"
    restore(link, path, "shown")
    restore(Target(FileState("absent")), path, "shown")
    assert not path.is_symlink()
    assert outside.read_bytes() == b"untouched"


def test_folders_made_for_a_file_go_with_it_when_they_are_empty(
    tmp_path: Path, store: CheckpointStore
) -> None:
    path = tmp_path / "x/y/a"
    target = kept(path, store)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"1")
    (tmp_path / "x/mine").write_bytes(b"")
    restore(target, path, "shown")
    assert os.listdir(tmp_path / "x") == ["mine"]
    restore(target, path, "shown")  # it is gone already


def test_a_folder_in_the_way_is_left(tmp_path: Path, store: CheckpointStore) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    target = kept(path, store)
    path.unlink()
    path.mkdir()
    for wanted in (target, Target(FileState("absent")), Target(FileState("link", target="b"))):
        with pytest.raises(ToolError, match="shown is no file any more"):
            restore(wanted, path, "shown")
    assert path.is_dir()


def test_a_link_among_the_folders_is_not_followed(tmp_path: Path, store: CheckpointStore) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "real/a"
    path.write_bytes(b"1")
    target = kept(path, store)
    path.unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "real").rmdir()
    (tmp_path / "real").symlink_to("elsewhere")
    with pytest.raises(ToolError):
        restore(target, path, "shown")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_what_is_not_kept_says_why(tmp_path: Path, store: CheckpointStore) -> None:
    gone = FileState("file", "0" * 64, 1)
    assert "not kept any more" in str(find_target(gone, "/a", tmp_path, store))
    assert find_target(FileState("unknown", why="a folder"), "/a", tmp_path, store) == "a folder"
    commit = FileState("commit", "abcdef0123")
    assert "git does not give" in str(find_target(commit, str(tmp_path / "a"), tmp_path, store))
    odd = FileState("commit", "--output=x")
    assert "git does not give" in str(find_target(odd, str(tmp_path / "a"), tmp_path, store))
