"""Puts a file back into an earlier state, the way the tools write: whole or not at all, over no symlink."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from mewcode.core.errors import ToolError
from mewcode.infra.atomic import temporary_name
from mewcode.sessions.checkpoint_log import FileState
from mewcode.sessions.checkpoint_store import CheckpointStore, digest_of, read_regular
from mewcode.sessions.work_tree import TooSlow, committed_state
from mewcode.tools.file_access import explained, parent_folder
from mewcode.tools.replace_file import create_file, replace_file
from mewcode.tools.text_file import TextFile

_EXECUTE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


class Target(msgspec.Struct, frozen=True):
    """What is to stand at a path: ``state``, of a file with its content ``data``. Of a file that comes from
    git only the execute bits of the mode count (``from_git``), for git knows no others."""

    state: FileState
    data: bytes = b""
    from_git: bool = False

    def stands(self, now: FileState) -> bool:
        """Whether ``now`` is that state already."""
        if not self.from_git or now.kind != "file" or self.state.kind != "file":
            return self.state.same(now)
        return self.state.blob == now.blob and not (self.state.mode ^ now.mode) & stat.S_IXUSR


def find_target(state: FileState, path: str, root: Path | None, store: CheckpointStore) -> Target | str:
    """The state with its content, or why it cannot be had. ``root``: the work tree, None where git may not be
    run in it."""
    if state.kind == "unknown":
        return state.why
    if state.kind == "commit":
        if root is None:
            return "git is not run in a folder that is not trusted"
        return _from_git(state.blob, path, root)
    if state.kind != "file":
        return Target(state)
    data = store.load(state.blob)
    return "what it was is not kept any more, to save room" if data is None else Target(state, data)


def _from_git(commit: str, path: str, root: Path) -> Target | str:
    try:
        found = committed_state(root, commit, path)
    except TooSlow:
        found = None
    if found is None:
        return f"git does not give what it was in commit {commit[:8]}"
    kind, mode, data = found
    if kind == "absent":
        return Target(FileState("absent"))
    if kind == "link":
        return Target(FileState("link", target=os.fsdecode(data)))
    return Target(FileState("file", digest_of(data), len(data), mode=mode), data, from_git=True)


def restore(target: Target, path: Path, shown: str) -> None:
    """Makes it so. Raises `ToolError`, and the file is as it was."""
    with explained(shown):
        try:
            now = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            now = None
        if now is not None and not (stat.S_ISREG(now.st_mode) or stat.S_ISLNK(now.st_mode)):
            raise ToolError(f"{shown} is no file any more.")
        if target.state.kind == "absent":
            if now is not None:
                _remove(path, target.state.folder)
        elif target.state.kind == "link":
            _link(target.state.target, path)
        else:
            _write(target, path, shown, now)


def _write(target: Target, path: Path, shown: str, now: os.stat_result | None) -> None:
    if now is not None and stat.S_ISLNK(now.st_mode):
        with parent_folder(path) as folder:
            os.unlink(path.name, dir_fd=folder)
        now = None
    if now is None:
        now = create_file(path, target.data, shown)
    else:
        old = read_regular(path)
        if old is None:
            raise ToolError(f"{shown} has become too large to be replaced.")
        if old != target.data:
            replace_file(TextFile(path, old, now, "", b"", "utf-8"), target.data, shown)
    _set_mode(path, _mode_of(target, stat.S_IMODE(now.st_mode)))


def _mode_of(target: Target, now: int) -> int:
    if not target.from_git:
        return target.state.mode
    if target.state.mode & stat.S_IXUSR:
        return now | (now & 0o444) >> 2  # who may read it may run it
    return now & ~_EXECUTE


def _set_mode(path: Path, mode: int) -> None:
    with parent_folder(path) as folder:
        descriptor = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
                os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)


def _link(target: str, path: Path) -> None:
    with parent_folder(path, make=True) as folder:
        temporary = temporary_name(path.name)
        os.symlink(target, temporary, dir_fd=folder)
        try:
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise


def _remove(path: Path, made_folder: str) -> None:
    """Removes a file, and the folders made for it that are empty now."""
    with parent_folder(path) as folder:
        os.unlink(path.name, dir_fd=folder)
    top = Path(made_folder) if made_folder else None
    if top is None or not path.is_relative_to(top):
        return
    parent = path.parent
    with suppress(OSError):  # a folder that holds something else stays
        while parent.is_relative_to(top):
            parent.rmdir()
            parent = parent.parent
