"""Which folders of git belong to a work tree, read from its files; no process is started.

What these files say is untrusted: they may have come with an archive that was unpacked.
"""

from __future__ import annotations

import os
from pathlib import Path

_POINTER_LIMIT = 4096
"""Bytes of a file of git that names a folder."""


def common_dir(root: Path) -> Path | None:
    """The folder that all work trees of a repository share, resolved; None where there is no repository."""
    git = root / ".git"
    try:
        if git.is_dir():
            return git.resolve(strict=True)
        own = _own_dir(root)
        return None if own is None else (own / read_pointer(own / "commondir")).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # gone, no path at all, or a circle of links
        return None


def main_work_tree(root: Path) -> Path:
    """The main work tree of the repository of which ``root`` is a linked one; of a bare repository, its own
    folder. Otherwise ``root`` itself, also where the repository does not say that this work tree is its own:
    a folder cannot claim to belong to another. Never raises."""
    git = root / ".git"
    try:
        if not git.is_file():
            return root
        own = _own_dir(root)
        pointer = "" if own is None else read_pointer(own / "commondir")
        if own is None or not pointer:  # a submodule, or a git folder kept elsewhere
            return root
        common = (own / pointer).resolve(strict=True)
        back = read_pointer(own / "gitdir")
        is_known = own.parent == common / "worktrees" and bool(back) and (own / back).samefile(git)
    except (OSError, ValueError, RuntimeError):  # gone, no path at all, or a circle of links
        return root
    if not is_known:
        return root
    return common.parent if common.name == ".git" else common


def read_pointer(path: Path) -> str:
    """What a file of one line says; "" where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as stream:
            return os.fsdecode(stream.read(_POINTER_LIMIT)).strip()
    except OSError:
        return ""


def _own_dir(root: Path) -> Path | None:
    """The folder of git that the ``.git`` file of a linked work tree or a submodule names, resolved."""
    pointer = read_pointer(root / ".git")
    if not pointer.startswith("gitdir:"):
        return None
    return (root / pointer.removeprefix("gitdir:").strip()).resolve(strict=True)
