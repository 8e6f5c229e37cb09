"""What a tool call wants to touch, and the word of the permission policy on it."""

from __future__ import annotations

from typing import Literal

import msgspec

Mode = Literal["default", "accept-edits", "plan", "dont-ask", "bypass"]
MODES: tuple[Mode, ...] = ("default", "accept-edits", "plan", "dont-ask", "bypass")


class ReadAccess(msgspec.Struct, frozen=True, tag="read"):
    """A file or folder is read. ``path`` is absolute and resolved, symlinks included."""

    path: str


class WriteAccess(msgspec.Struct, frozen=True, tag="write"):
    """A file is written or made. ``path`` is absolute and resolved, symlinks included."""

    path: str


class CommandAccess(msgspec.Struct, frozen=True, tag="command"):
    """A shell command is run in the folder ``cwd`` (absolute)."""

    command: str
    cwd: str


class FetchAccess(msgspec.Struct, frozen=True, tag="fetch"):
    """A page is fetched from ``host`` (lower case, IDNA, with the port where it is not the default)."""

    url: str
    host: str


Access = ReadAccess | WriteAccess | CommandAccess | FetchAccess


class Verdict(msgspec.Struct, frozen=True):
    """``reason`` is for the user (ask) or the model (deny). ``rule`` is the narrowest rule that would
    allow this and its like next time, such as ``bash(git status *)``; empty where none should be offered.
    """

    decision: Literal["allow", "ask", "deny"]
    reason: str = ""
    rule: str = ""
