"""What became of instructions: a tree of files, with each include and why it was left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from mewcode.core.tokens import text_tokens

Level = Literal["project", "private", "user"]
LEVEL_WORDS: dict[Level, str] = {
    "project": "instructions of the project",
    "private": "the user's own instructions for this project",
    "user": "the user's own instructions for all projects",
}
Outcome = Literal["loaded", "duplicate", "skipped"]


class Include(msgspec.Struct):
    """A line that asked for a file. ``written``: the path as it stood there; ``line``: its number from 1.
    ``reason``: why it was left out, or what is already there. ``node``: what came in its place. ``outside``:
    the resolved path beyond the boundary that it means, where that is why."""

    written: str
    line: int
    outcome: Outcome
    reason: str = ""
    node: Node | None = None
    outside: Path | None = None


class Node(msgspec.Struct):
    """A file that was read. ``where``: its resolved path; ``shown``: as a person reads it. ``size``: bytes of
    the file. ``pieces``: its text, and what it includes, in order. ``numbers``: the number in the file of
    each line of `own_text`. ``cut``: why its end is missing, "" for none."""

    where: str
    shown: str
    level: Level
    size: int
    pieces: list[str | Include] = []
    numbers: list[int] = []
    warnings: list[str] = []
    cut: str = ""

    @property
    def path(self) -> Path:
        return Path(self.where)

    def text(self) -> str:
        """The text with all includes in their places."""
        parts = [piece if isinstance(piece, str) else _included(piece) for piece in self.pieces]
        if self.cut:
            parts.append(comment(f"cut here ({self.cut}): {self.shown}"))
        return "\n".join(parts)

    def includes(self) -> list[Include]:
        """What this file asks for itself."""
        return [piece for piece in self.pieces if isinstance(piece, Include)]

    def walk(self) -> Iterator[Node]:
        """This file and all that came by includes, in the order of the text."""
        yield self
        for include in self.includes():
            if include.node is not None:
                yield from include.node.walk()

    def own_text(self) -> str:
        """The text without what is included."""
        return "\n".join(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def tokens(self) -> int:
        """Tokens of its own text."""
        return text_tokens(self.own_text())


class Skipped(msgspec.Struct, frozen=True):
    """A top-level file that was not read."""

    path: Path
    shown: str
    level: Level
    reason: str

    def comment(self) -> str:
        return comment(f"instructions skipped ({self.reason}): {self.shown}")


def _included(include: Include) -> str:
    if include.node is not None:
        return include.node.text()
    if include.outcome == "duplicate":
        return comment(f"@include: {include.reason}: {include.written}")
    return comment(f"@include skipped ({include.reason}): {include.written}")


def comment(words: str) -> str:
    """An HTML comment on one line, whatever the words hold."""
    clean = " ".join(words.split())
    while "--" in clean:
        clean = clean.replace("--", "-")
    return f"<!-- {clean.rstrip('-').replace('>', '›')} -->"
