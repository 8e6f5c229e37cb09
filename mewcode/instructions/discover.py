"""Where instructions are looked for, in which order. Only the names of files are looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mewcode.infra.paths import PROJECT_DIR, Places

if TYPE_CHECKING:
    from mewcode.instructions.tree import Level

NAME = "MEWCODE.md"
LOCAL_NAME = "MEWCODE.local.md"
OTHER_NAMES = ("AGENTS.md", "CLAUDE.md")
"""What is read in a folder that has none of our own; the first that is there."""
RULES = "rules"


class Candidate(msgspec.Struct, frozen=True):
    """A file to read. ``base``: the folder that it speaks about. ``is_rule``: its head may say for which
    paths it holds."""

    path: Path
    level: Level
    base: Path
    is_rule: bool = False


def folders_upward(places: Places) -> list[Path]:
    """The working folder, then its parents up to the workspace's root."""
    folders = [places.cwd, *places.cwd.parents]
    return folders[: folders.index(places.root) + 1] if places.root in folders else [places.root]


def folders_down_to(path: Path, places: Places) -> Iterator[Path]:
    """The folders below the working folder that a path lies in, the nearest first, itself included."""
    for folder in (path, *path.parents) if path.is_dir() else path.parents:
        if folder == places.cwd or not folder.is_relative_to(places.cwd):
            return
        yield folder


def candidates(places: Places) -> Iterator[Candidate]:
    """All files that are read at the start, the nearest folder's first, the user's last."""
    for folder in folders_upward(places):
        yield from in_folder(folder, places)
    yield from _present(places.user, (NAME,), "user", places.user)
    yield from _rules(places.user, "user", places.user)


def in_folder(folder: Path, places: Places) -> list[Candidate]:
    """The files of one folder of the workspace."""
    own = places.project if folder == places.root else folder / PROJECT_DIR
    found = _present(folder, (NAME,), "project", folder)
    if own != places.user:
        found += _present(own, (NAME,), "project", folder)
        found += _present(own, (LOCAL_NAME,), "private", folder)
    if not found:
        found = _present(folder, OTHER_NAMES, "project", folder)[:1]
    return found if own == places.user else [*found, *_rules(own, "project", folder)]


def _present(folder: Path, names: tuple[str, ...], level: Level, base: Path) -> list[Candidate]:
    """Those of the names that something is at: what it is shows when it is read."""
    return [Candidate(folder / name, level, base) for name in names if os.path.lexists(folder / name)]


def _rules(own: Path, level: Level, base: Path) -> list[Candidate]:
    try:
        names = sorted(name for name in os.listdir(own / RULES) if name.endswith(".md"))
    except OSError:  # most have none
        return []
    return [Candidate(own / RULES / name, level, base, is_rule=True) for name in names]
