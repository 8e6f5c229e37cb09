"""Whether what a note names is still there: its paths, symbols, commands and links against the work tree.

Nothing is executed, fetched or written, and nothing outside the work tree is opened or followed; only the
folders of the search path are asked whether they hold a program. What cannot be judged in time counts as
there.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from mewcode.infra.append_file import CAREFUL
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.names import name_in_file
from mewcode.memory.note import Note

if TYPE_CHECKING:
    from mewcode.memory.references import Kind, Reference

TIME_LIMIT = 0.2
"""Seconds for the files and the words of one note."""
MARKS = "`~[/$"
"""A text without any of these names nothing."""
_MOST_NAMED = 5
_MOST_LINKS = 20
_MOST_WORDS = 4_000
_MOST_BYTES = 256_000
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_BINARIES = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Folders of a work tree that hold programs of the project."""


class Tree(Protocol):
    """What is in a work tree, as far as git does not ignore it. Called in a thread."""

    @property
    def root(self) -> Path:
        """Its top, an absolute path without symbolic links."""
        ...

    @property
    def search_path(self) -> str:
        """Where programs are, as ``PATH`` has it."""
        ...

    def files(self, until: float) -> Collection[str] | None:
        """All files, relative to the top; None where they cannot be listed by then (`time.monotonic`)."""
        ...

    def words(self, wanted: frozenset[str], until: float) -> frozenset[str] | None:
        """Those of these identifiers that stand in some file, as whole words; None where that cannot be said
        of all of them by then."""
        ...


class Dead(msgspec.Struct, frozen=True):
    """What is no longer there, as the note names it. ``now``: the only file of that name, where there is one
    elsewhere."""

    kind: Kind
    text: str
    now: str = ""


class Liveness(msgspec.Struct, frozen=True):
    """``checked``: how many references could be judged."""

    dead: tuple[Dead, ...] = ()
    checked: int = 0


def check_note(
    note: Note, tree: Tree, clock: Callable[[], float] = time.monotonic, limit: float | None = None
) -> Liveness:
    """What a note names that is not there. Of a note that is not the project's only absolute paths within the
    work tree count. Never raises; takes at most about ``limit`` seconds (`TIME_LIMIT`) beyond a look at
    single files."""
    return check_text(note.body, tree, is_project=note.level == "project", clock=clock, limit=limit)


def check_notes(
    notes: Sequence[Note],
    tree: Tree,
    limit: float,
    stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> list[Liveness]:
    """`check_note` of each, as far as ``limit`` seconds suffice and until ``stop`` turns true; the tree is
    looked through for all of them at once."""
    until = clock() + limit
    of_project = [note for note in notes if note.level == "project"]
    from mewcode.memory.references import references

    named = [item for note in of_project for item in references(note.body)]
    wanted = {part for item in named if item.kind == "symbol" for part in item.target.split(".")}
    if wanted:
        tree.words(frozenset(sorted(wanted)[:_MOST_WORDS]), until)
    return [
        Liveness() if stop() or clock() > until else check_note(note, tree, clock, until - clock())
        for note in notes
    ]


def check_text(
    text: str,
    tree: Tree,
    *,
    is_project: bool = True,
    clock: Callable[[], float] = time.monotonic,
    limit: float | None = None,
) -> Liveness:
    """See `check_note`."""
    if not any(mark in text for mark in MARKS):
        return Liveness()
    from mewcode.memory.references import MOST_READ, references

    named = references(redact(text[:MOST_READ]))
    if not is_project:
        named = tuple(item for item in named if item.target.startswith("/"))
    return _Check(tree, clock() + (TIME_LIMIT if limit is None else limit)).judge(named)


def dead_words(found: Liveness) -> str:
    """``no longer there: src/old.py (path), frobnicate (symbol)``, safe to show on a line; "" where all is
    there."""
    if not found.dead:
        return ""
    said = [_dead_word(dead) for dead in found.dead[:_MOST_NAMED]]
    more = len(found.dead) - _MOST_NAMED
    return f"no longer there: {', '.join(said)}{f' and {more} more' if more > 0 else ''}"


def _dead_word(dead: Dead) -> str:
    now = f", now {safe_line(dead.now, 120)}" if dead.now else ""
    return f"{safe_line(dead.text, 80)} ({dead.kind}{now})"


class _Check:
    """One look at a work tree. What it says is True for there, False for gone, None for not to be judged."""

    def __init__(self, tree: Tree, until: float) -> None:
        self._tree = tree
        self._root = tree.root
        self._until = until

    def judge(self, named: Sequence[Reference]) -> Liveness:
        said: dict[Reference, bool | None] = {}
        for item in named:
            if item.kind != "symbol":
                said[item] = self._command(item) if item.kind == "command" else self._path(item)
        gone = [item for item, there in said.items() if there is False and _may_be_elsewhere(item)]
        now = self._elsewhere(gone, said)
        self._symbols([item for item in named if item.kind == "symbol"], said)
        dead = [Dead(item.kind, item.text, now.get(item, "")) for item in named if said[item] is False]
        return Liveness(tuple(dead), sum(there is not None for there in said.values()))

    def _path(self, item: Reference) -> bool | None:
        path = self._within(item.target)
        if not path or (item.kind == "link" and name_in_file(path)[0]):  # another note
            return None
        if item.is_sure or self._is_there(path.partition("/")[0]):
            return self._is_there(path)
        return None

    def _within(self, target: str) -> str:
        """The path below the top; "" where it leads out, or to the top itself."""
        try:
            path = os.path.normpath(os.path.join(self._root, target))
            inside = os.path.relpath(path, self._root)
        except ValueError:  # a NUL
            return ""
        return "" if inside == "." or inside.split(os.sep)[0] == ".." else inside.replace(os.sep, "/")

    def _is_there(self, path: str) -> bool | None:
        """Link by link; None where one leads out of the work tree."""
        here, parts, links = str(self._root), path.split("/"), 0
        while parts:
            name = os.path.join(here, parts.pop(0))
            try:
                mode = os.lstat(name).st_mode
                if not (parts and stat.S_ISLNK(mode)):
                    here = name
                    continue
                target = self._within(os.path.join(here, os.readlink(name)))
            except OSError as error:
                return False if error.errno in _ABSENT else None
            links += 1
            if not target or links > _MOST_LINKS:
                return None
            here, parts = str(self._root), [*target.split("/"), *parts]
        return True

    def _elsewhere(
        self, items: Sequence[Reference], said: dict[Reference, bool | None]
    ) -> dict[Reference, str]:
        """Judges relative paths that are not at the top, by all files; where the only file of a name that is
        gone is now."""
        files = self._tree.files(self._until) if items else ()
        if files is None:
            said |= dict.fromkeys(items)
            return {}
        paths = {item: f"/{os.path.normpath(item.target)}" for item in items}
        names = {_name(path) for path in paths.values()}
        named: dict[str, list[str]] = {}
        for file in files:
            if (name := _name(file)) in names:
                named.setdefault(name, []).append(file)
        now: dict[Reference, str] = {}
        for item, path in paths.items():
            found = named.get(_name(path), [])
            there = any(f"/{file}".endswith(path) for file in found)
            if not there and item.target.endswith("/"):
                there = any(f"{path}/" in f"/{file}" for file in files)
            if not there and len(found) == 1:
                now[item] = found[0]
            said[item] = there
        return now

    def _symbols(self, items: Sequence[Reference], said: dict[Reference, bool | None]) -> None:
        """A name with a dot is there where the last part of it stands in a file, and each other part does or
        is a file or folder."""
        parts = {item: item.target.split(".") for item in items}
        wanted = frozenset(part for name in parts.values() for part in name)
        found = self._tree.words(wanted, self._until) if wanted else frozenset[str]()
        if found is None:
            said |= dict.fromkeys(items)
            return
        stems: set[str] = set()
        if any(part not in found for name in parts.values() for part in name[:-1]):
            files = self._tree.files(self._until)
            if files is None:
                said |= dict.fromkeys(items)
                return
            stems = {part.partition(".")[0] for file in files for part in file.split("/")}
        for item, name in parts.items():
            said[item] = name[-1] in found and all(part in found or part in stems for part in name[:-1])

    def _command(self, item: Reference) -> bool | None:
        words = item.target.split(" ")
        if "/" in words[0]:
            return None if words[0].startswith("/") else self._path(item)
        if not self._is_program(words[0]):
            return False
        if len(words) == 1:
            return True
        return self._is_target(words[1]) if words[0] == "make" else self._is_script(words[2])

    def _is_program(self, name: str) -> bool:
        if any(self._is_there(f"{folder}/{name}") for folder in _BINARIES):
            return True
        places = [folder for folder in self._tree.search_path.split(os.pathsep) if os.path.isabs(folder)]
        return any(os.access(os.path.join(folder, name), os.X_OK) for folder in places)

    def _is_target(self, name: str) -> bool | None:
        """Whether there is something to make of that name; None where the rules are not all to be seen."""
        text = next(filter(None, map(self._text, ("GNUmakefile", "makefile", "Makefile"))), "")
        is_whole = bool(text)
        for line in text.splitlines():
            targets, colon, _ = line.partition(":")
            if colon and name in targets.split():
                return True
            is_rule = bool(colon) and not line.startswith("\t")
            is_whole = is_whole and not line.lstrip("-s").startswith("include")
            is_whole = is_whole and not (is_rule and re.search(r"[%$]", targets))
        return False if is_whole else None

    def _is_script(self, name: str) -> bool | None:
        try:
            scripts = json.loads(self._text("package.json"))["scripts"]
            return name in scripts
        except (ValueError, KeyError, TypeError, RecursionError):  # none there, or not to be read
            return None

    def _text(self, name: str) -> str:
        """A file at the top; "" where there is none that can be read."""
        try:
            descriptor = os.open(self._root / name, os.O_RDONLY | CAREFUL)
        except OSError:
            return ""
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            data = stream.read(_MOST_BYTES + 1)
        return data.decode("utf-8", "replace") if len(data) <= _MOST_BYTES else ""


def _may_be_elsewhere(item: Reference) -> bool:
    """Whether a path may be meant as seen from another folder than the top."""
    return not item.target.startswith("/") and (item.kind != "command" or "/" in item.target)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
