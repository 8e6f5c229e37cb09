"""The module that says where the model is: priority 60."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from mewcode.infra.terminal_text import safe_line
from mewcode.prompt.module import PromptModule

# Names that are shown, entries that are looked at for them, characters of a name.
_NAMES, _LOOKED_AT, _NAME = 40, 2_000, 80
_LINE_READ = 4_096
"""Bytes of a file of git that holds one line."""
_REF = re.compile(r"ref:\s*(refs/\S{1,250})")  # git allows no blanks in it, and no file system a longer part
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def environment_module(
    *,
    cwd: Path,
    root: Path,
    platform: str,
    shell: str,
    date: str,
    model: str,
    add_dirs: tuple[Path, ...] = (),
) -> PromptModule:
    """``date`` is a day (ISO); the time of day would move the cached prefix with each start."""

    def render() -> str:
        branch = git_branch(root)
        lines = [
            "# Environment",
            f"- Working folder: {cwd}",
            f"- Workspace root: {root}" if root != cwd else "",
            f"- Further folders: {', '.join(map(str, add_dirs))}" if add_dirs else "",
            f"- Git branch: {branch}" if branch else "- Not a git repository",
            f"- In the working folder: {listing}" if (listing := _listing(cwd)) else "",
            f"- Platform: {platform}",
            f"- Shell: {shell}",
            f"- Today's date: {date}",
            f"- Model: {model}",
        ]
        return "\n".join(line for line in lines if line)

    return PromptModule("environment", 60, "session", render, "this machine and folder")


def _listing(cwd: Path) -> str:
    """What stands in the folder, folders with a slash; not what is hidden."""
    try:
        with os.scandir(cwd) as entries:
            looked_at = islice(entries, _LOOKED_AT)
            found = {entry.name: entry for entry in looked_at if not entry.name.startswith(".")}
        first = sorted(found)[:_NAMES]
        names = [safe_line(name, _NAME) + ("/" if found[name].is_dir() else "") for name in first]
    except OSError:  # it cannot be read: the model will see when it tries
        return ""
    more = len(found) - _NAMES
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def git_branch(root: Path) -> str:
    """The branch that ``root`` is on, a short commit id when it is on none, empty outside a repository.
    Reads the files that git keeps; runs nothing."""
    git = git_folder(root)
    head = _only_line(git / "HEAD") if git is not None else ""
    if ref := _REF.fullmatch(head):
        return ref[1].removeprefix("refs/heads/")
    return head[:12] if _COMMIT.fullmatch(head) else ""


def git_folder(root: Path) -> Path | None:
    """Where git keeps the work tree ``root``; None where the folder says nothing of that. It may be anywhere:
    what stands there is not the user's word."""
    git = root / ".git"
    if not git.is_file():
        return git
    pointer = _only_line(git)
    if not pointer.startswith("gitdir:"):
        return None
    try:
        return (root / pointer.removeprefix("gitdir:").strip()).resolve()
    except (OSError, ValueError, RuntimeError):  # no path at all, or a circle of links
        return None


def _only_line(path: Path) -> str:
    """What a file of one line says; empty where there is none, where it says more, or nothing fit to show."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            text = stream.read(_LINE_READ).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if text.isprintable() else ""
