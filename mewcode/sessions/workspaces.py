"""Which workspaces have sessions: those that were used before, and the work trees of one repository.

``workspaces.jsonl`` in the user folder has a line ``{"root", "ts"}`` for each, added when a workspace gets
its first session. What git's files say is untrusted: a folder counts only where it is there, says itself that
it belongs to the repository, and holds sessions.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from mewcode.core.codec import decode_json, encode_json
from mewcode.infra.git_folders import common_dir, read_pointer
from mewcode.infra.paths import Places, private_dir, project_dir, project_of

WORKSPACES = "workspaces.jsonl"
_LIST_LIMIT = 1 << 20
"""Bytes at the end of the list that are read: some ten thousand workspaces."""
_MOST_ROOTS = 500
_MOST_TREES = 200


class Workspace(msgspec.Struct, frozen=True):
    """A folder that was worked in, and where its sessions are; neither need exist."""

    root: Path
    sessions_dir: Path


def foreign_link(places: Places) -> Path | None:
    """The symbolic link, project folder or folder of sessions, that puts the sessions elsewhere; None where
    there is none. A repository can bring one. Those in the user folder are the user's own."""
    if places.project.parent == places.user:
        return None
    folders = (places.project, places.project / "sessions")
    return next((folder for folder in folders if folder.is_symlink()), None)


def make_project(places: Places, *, trusted: bool) -> Path:
    """Makes the project folder (see `project_dir`), and lists the workspace where it has no sessions yet.
    Raises OSError where the folder cannot be made, and for a `foreign_link` in a folder that the user does
    not trust: what is said there is not written to wherever it leads."""
    link = None if trusted else foreign_link(places)
    if link is not None:
        shown = link.relative_to(places.root)
        raise OSError(errno.ELOOP, f"{shown} is a link, and this folder is not trusted", str(link))
    is_new = not (places.project / "sessions").is_dir()
    folder = project_dir(places)
    if is_new:
        # Without its line the workspace is missing from "everywhere"; its sessions are not.
        with suppress(OSError):
            remember_root(places.user, places.root, now=time.time())
    return folder


def remember_root(user_dir: Path, root: Path, *, now: float) -> None:
    """Adds a workspace to the list, in one write. Raises OSError."""
    line = encode_json({"root": str(root), "ts": now}) + b"\n"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(private_dir(user_dir) / WORKSPACES, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, b"\n" + line if is_torn else line)
    finally:
        os.close(descriptor)


def known_roots(user_dir: Path) -> list[Path]:
    """The workspaces of the list that are still there, the last to come first, each once. Never raises."""
    roots: dict[Path, None] = {}
    for line in reversed(_tail(user_dir / WORKSPACES)):
        root = _root_of(line)
        if root is not None and root not in roots and root.is_dir():
            roots[root] = None
            if len(roots) == _MOST_ROOTS:
                break
    return list(roots)


def workspace_of(root: Path, user_dir: Path) -> Workspace:
    """The workspace of that root."""
    return Workspace(root, project_of(root, user_dir) / "sessions")


def work_trees(root: Path) -> list[Path]:
    """The other work trees of the repository whose work tree ``root`` is, those with sessions only. Starts
    no process, never raises."""
    common = common_dir(root)
    if common is None:
        return []
    found = [common.parent] if common.name == ".git" else []
    try:
        with os.scandir(common / "worktrees") as entries:
            names = [entry.name for _, entry in zip(range(_MOST_TREES), entries, strict=False)]
    except OSError:  # it has none
        names = []
    for name in sorted(names):
        pointer = read_pointer(common / "worktrees" / name / "gitdir")
        if pointer:
            found.append((common / "worktrees" / name / pointer).parent)
    trees: dict[Path, None] = {}
    for tree in found:
        with suppress(OSError, ValueError, RuntimeError):  # gone, no path at all, or a circle of links
            resolved = tree.resolve(strict=True)
            if (resolved / ".mewcode" / "sessions").is_dir() and common_dir(resolved) == common:
                trees[resolved] = None
    trees.pop(_resolved(root), None)
    return list(trees)


def cache_path(sessions_dir: Path) -> Path:
    """Where the catalogue of these sessions is kept: where the system keeps caches, by the folder's path."""
    import hashlib

    import platformdirs

    key = hashlib.blake2b(os.fsencode(_resolved(sessions_dir)), digest_size=12)
    root = Path(platformdirs.user_cache_dir("mewcode", appauthor=False))
    return root / "sessions" / f"{key.hexdigest()}.sqlite"


def _tail(path: Path) -> list[bytes]:
    """The whole lines at the file's end."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            start = max(0, stream.seek(0, os.SEEK_END) - _LIST_LIMIT)
            stream.seek(start)
            lines = stream.read(_LIST_LIMIT).split(b"\n")
    except OSError:  # nothing was listed yet
        return []
    return lines[1:] if start else lines


def _root_of(line: bytes) -> Path | None:
    try:
        value = decode_json(line)
    except (ValueError, RecursionError):  # torn, or not ours
        return None
    root = value.get("root") if isinstance(value, dict) else None
    if not isinstance(root, str) or "\0" in root or not os.path.isabs(root):
        return None
    return Path(root)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return path
