"""In which folder each command of a line may run, as `cd` moves it.

Where it is not certain which way the shell goes, all ways are kept: a path must be judged from each folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

from mewcode.permissions.shell import simple_commands
from mewcode.permissions.shell_words import (
    AndOr,
    Branches,
    Loop,
    Node,
    Pipeline,
    Redirect,
    Sequence,
    SimpleCommand,
    Subshell,
    Word,
)

Folders = frozenset[str] | None  # None: it can be any folder
_MAX_FOLDERS = 8
# These can leave the shell in another folder in ways that are not followed.
_MOVERS = frozenset(
    {"pushd", "popd", "command", "builtin", "eval", "source", ".", "exec", "trap", "shopt", "set"}
)


class Placed(msgspec.Struct, frozen=True):
    """A command with the folders it may run in. ``loop_words`` are the words that a ``for`` goes through;
    then the command itself is empty."""

    command: SimpleCommand
    folders: Folders
    loop_words: tuple[Word, ...] = ()


def place_commands(program: Node, folder: str, home: str) -> list[Placed]:
    """All simple commands of a line that starts in ``folder``."""
    walk = _Walk(home)
    walk.visit(program, frozenset({folder}))
    return walk.placed


def _join(first: Folders, second: Folders) -> Folders:
    if first is None or second is None:
        return None
    both = first | second
    return both if len(both) <= _MAX_FOLDERS else None


class _Walk:
    def __init__(self, home: str) -> None:
        self.home = home
        self.placed: list[Placed] = []

    def visit(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        """The folders after success, and after failure."""
        if isinstance(node, SimpleCommand):
            return self._simple(node, folders)
        if isinstance(node, Sequence):
            return self._sequence(node.parts, folders)
        if isinstance(node, AndOr):
            success, failure = self.visit(node.left, folders)
            if node.operator == "&&":
                then, fails = self.visit(node.right, success)
                return then, _join(failure, fails)
            then, fails = self.visit(node.right, failure)
            return _join(success, then), fails
        if isinstance(node, Subshell):
            self.visit(node.body, folders)
            self._redirects(node.redirects, folders)
            return folders, folders
        if isinstance(node, Loop):
            return self._loop(node, folders)
        # Members of a pipeline run each in a shell of its own, with `lastpipe` all but the last do.
        after = folders
        for part in node.parts:
            before = folders if isinstance(node, Pipeline) else after
            after = _join(after, _join(*self.visit(part, before)))
        if isinstance(node, Branches):
            self._redirects(node.redirects, folders)
        return after, after

    def _sequence(self, parts: tuple[Node, ...], folders: Folders) -> tuple[Folders, Folders]:
        success = failure = folders
        before = folders
        for part in parts:
            success, failure = self.visit(part, before)
            # `cd x &` moves a shell of its own; not told apart from `cd x;`, so the old folder stays
            # possible.
            before = _join(before, _join(success, failure))
        return (before, before) if len(parts) != 1 else (success, failure)

    def _loop(self, node: Loop, folders: Folders) -> tuple[Folders, Folders]:
        self._words(node.words, folders)
        if node.variable:
            self.placed.append(Placed(SimpleCommand(()), folders, node.words))
        moves = any(_moves(command) for part in node.parts for command in simple_commands(part))
        during = None if moves else folders
        for part in node.parts:
            self.visit(part, during)
        self._redirects(node.redirects, folders)
        return during, during

    def _simple(self, command: SimpleCommand, folders: Folders) -> tuple[Folders, Folders]:
        self._words((*command.assignments, *command.words), folders)
        self._redirects(command.redirects, folders, placed=False)
        self.placed.append(Placed(command, folders))
        if command.name == "cd":
            return self._cd(command, folders), folders
        return (None, None) if _moves(command) else (folders, folders)

    def _cd(self, command: SimpleCommand, folders: Folders) -> Folders:
        words = command.words[1:]
        if folders is None or len(words) != 1 or not words[0].literal:
            return None
        target = self.home + words[0].text[1:] if words[0].tilde else words[0].text
        if not target or target.startswith("-"):
            return None
        found: set[str] = set()
        for folder in folders:
            # bash takes `link/..` back to where the link stands, the kernel to where it leads: both are kept.
            path = os.path.join(folder, target)
            found |= {os.path.normpath(path), os.path.realpath(path)} if ".." in target else {path}
        return frozenset(found) if len(found) <= _MAX_FOLDERS else None

    def _words(self, words: Iterable[Word], folders: Folders) -> None:
        for word in words:
            for inside in word.inside:
                self.visit(inside, folders)

    def _redirects(self, redirects: tuple[Redirect, ...], folders: Folders, *, placed: bool = True) -> None:
        for redirect in redirects:
            for inside in (*redirect.inside, *(redirect.target.inside if redirect.target else ())):
                self.visit(inside, folders)
        if placed and redirects:
            self.placed.append(Placed(SimpleCommand((), (), redirects), folders))


def _moves(command: SimpleCommand) -> bool:
    if not command.words:
        return False
    words = [word.text for word in command.words]
    if words[:2] in (["command", "-v"], ["command", "-V"]) or is_strict_mode(command.words):
        return False
    return command.name == "cd" or command.name in _MOVERS or not command.name


def is_strict_mode(words: tuple[Word, ...]) -> bool:
    """Whether it is `set -e`, `set -euo pipefail` or the like, which only make the shell stop earlier."""
    texts = [word.text for word in words if word.literal]
    return len(texts) == len(words) and bool(
        re.fullmatch(r"set( -[eu]+| -[eu]*o pipefail)+", " ".join(texts))
    )
