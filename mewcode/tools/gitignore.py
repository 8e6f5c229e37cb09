"""The files of a tree without what git ignores, in the order and by the rules of ripgrep.

Used by `search_process`, where there is no ripgrep. Each file and folder is judged by itself, as git does it.
(pathspec judges a path by its parents too: a rule for a folder then outweighs a later one for what is in it.)
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mewcode.core.errors import ToolError
from mewcode.infra.path_glob import PathGlob


class _Rule(msgspec.Struct, frozen=True):
    """One line. ``glob`` is for the path below the file's folder, None where ``name`` decides alone."""

    ignores: bool
    folders_only: bool
    name: re.Pattern[str] | None
    glob: PathGlob | None

    def fits(self, relative: str, is_dir: bool) -> bool:
        if self.folders_only and not is_dir:
            return False
        if self.name is not None:
            return self.name.match(relative.rpartition("/")[2]) is not None
        return self.glob is not None and self.glob.matches(relative.split("/"))


def parse_rule(line: str) -> _Rule | None:
    """A line of a ``.gitignore``; None for a comment, an empty line and what makes no sense."""
    line = line.rstrip("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    ignores = not line.startswith("!")
    line = line.removeprefix("!")
    if line.startswith("#") and ignores:
        return None
    folders_only = line.endswith("/")
    pattern = _as_glob(line.removesuffix("/"))
    if not pattern.strip("/"):
        return None
    try:
        if "/" not in pattern:
            return _Rule(ignores, folders_only, re.compile(fnmatch.translate(pattern)), None)
        return _Rule(ignores, folders_only, None, PathGlob(pattern, braces=False))
    except (re.error, ToolError):
        return None


def _as_glob(pattern: str) -> str:
    """A backslash takes the meaning from the next character; here a class of one character does."""
    pattern = re.sub(r"\\(.)", lambda match: match[1] if match[1] in "!^" else f"[{match[1]}]", pattern)
    return pattern.replace("[^", "[!")


class _Rules:
    """The rules of one file, for paths below ``top``; a later one outweighs an earlier one."""

    def __init__(self, top: str, lines: list[str]) -> None:
        self._prefix = top.rstrip("/") + "/"
        self._rules = [rule for line in reversed(lines) if (rule := parse_rule(line)) is not None]

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        """True: ignored, False: named as not ignored, None: no word on it."""
        relative = path.removeprefix(self._prefix)
        return next((rule.ignores for rule in self._rules if rule.fits(relative, is_dir)), None)


def walk(base: Path, *, hidden: bool) -> Iterator[str]:
    """The regular files below an absolute folder, relative to it, sorted by name folder by folder. Symbolic
    links are not followed, ``.git`` is never entered; what cannot be read is left out."""
    top = _git_top(base)
    rules = _rules_above(base, top) if top is not None else []
    yield from _walk(str(base), "", rules, hidden, in_git=top is not None)


def _walk(folder: str, relative: str, rules: list[_Rules], hidden: bool, *, in_git: bool) -> Iterator[str]:
    rules = rules + _rules_of(folder)
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
    except OSError:  # no permission, or removed meanwhile
        return
    for entry in entries:
        is_dir = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or (not hidden and entry.name.startswith(".")):
            continue
        if not (is_dir or entry.is_file(follow_symlinks=False)) or _ignored(entry.path, is_dir, rules):
            continue
        if not is_dir:
            yield relative + entry.name
            continue
        # A repository within a repository follows its own rules alone.
        nested = in_git and os.path.lexists(os.path.join(entry.path, ".git"))
        yield from _walk(
            entry.path, f"{relative}{entry.name}/", [] if nested else rules, hidden, in_git=in_git
        )


def _ignored(path: str, is_dir: bool, rules: list[_Rules]) -> bool:
    """The nearest file that has a word on it decides."""
    for source in reversed(rules):
        verdict = source.verdict(path, is_dir)
        if verdict is not None:
            return verdict
    return False


def _git_top(base: Path) -> Path | None:
    return next((folder for folder in (base, *base.parents) if os.path.lexists(folder / ".git")), None)


def _rules_above(base: Path, top: Path) -> list[_Rules]:
    """The rules of the folders from the repository's top down to the parent of ``base``; none where they
    ignore ``base`` itself, which was asked for by name."""
    rules: list[_Rules] = []
    folder = top
    if base != top:
        rules += _rules_of(str(top))
    for part in base.relative_to(top).parts:
        folder /= part
        if _ignored(str(folder), True, rules):
            return []
        if folder != base:
            rules += _rules_of(str(folder))
    return rules


def _rules_of(folder: str) -> list[_Rules]:
    rules = []
    for name in (".git/info/exclude", ".gitignore"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8-sig", errors="surrogateescape") as stream:
                rules.append(_Rules(folder, stream.read().split("\n")))
        except OSError:  # none there
            continue
    return rules
