"""Reads files of instructions and puts what they include in its place.

Two things are kept apart: the stack of files that are being expanded, in which a file that comes up again is
a cycle, and the set of all that were read, in which it is only a second mention. No file is read twice.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import msgspec

from mewcode.instructions.boundary import Approvals, Boundary, meant_path, with_slash
from mewcode.instructions.directive import Directive
from mewcode.instructions.instruction_file import (
    BINARY,
    InstructionFile,
    Unreadable,
    read_instruction_file,
)
from mewcode.instructions.limits import DEPTH, FILE_BYTES, MOST_INCLUDES
from mewcode.instructions.markdown_scan import scan
from mewcode.instructions.trace import Trace
from mewcode.instructions.tree import Include, Level, Node

OUTSIDE = "outside the folder that may be included from"


class TopFile(msgspec.Struct, frozen=True):
    """A file that is read for its place. ``boundary``: what it and its includes may read."""

    path: Path
    level: Level
    boundary: Boundary


class Expander:
    """Expands top-level files one after the other; what one of them has brought is not brought again.

    ``trace``: what was looked at since `begin`.
    """

    def __init__(self, *, home: Path, shown_from: Path, approvals: Approvals | None = None) -> None:
        """``shown_from``: paths below it are shown relative to it."""
        self.trace = Trace(0)
        self._home = str(home)
        self._short = ((with_slash(str(shown_from)), ""), (with_slash(self._home), "~/"))
        self._approvals = approvals
        self._seen: dict[str, str] = {}
        self._includes = 0

    def begin(self) -> Trace:
        """Before each reading: where a folder led in an earlier one counts no more."""
        self.trace = Trace(time.time_ns())
        return self.trace

    def open(self, top: TopFile) -> InstructionFile:
        """Reads a top-level file. Raises `Unreadable`."""
        path = self.trace.resolve(str(top.path))
        if not top.boundary.allows(path):
            raise Unreadable(f"{OUTSIDE}: it leads to {path}")
        if path in self._seen:
            raise Unreadable(f"already included, in {self._seen[path]}")
        self._seen[path] = self.shown(str(top.path))
        return self._read(path)

    def expand(self, file: InstructionFile, top: TopFile) -> Node:
        """The tree of a file that `open` gave; what goes wrong with an include stands in the tree."""
        return self._node(file, top, (file.where,))

    def shown(self, path: str) -> str:
        """A path as a person reads it."""
        for folder, instead in self._short:
            if path.startswith(folder):
                return instead + path[len(folder) :]
        return path

    def _read(self, path: str) -> InstructionFile:
        try:
            return read_instruction_file(path)
        except Unreadable as error:
            # What the file looks like from outside does not tell that it could not be read.
            self.trace.is_whole &= str(error) == BINARY or not stat.S_ISREG(self.trace.signs[path][0])
            raise

    def _node(self, file: InstructionFile, top: TopFile, stack: tuple[str, ...]) -> Node:
        node = Node(file.where, self.shown(file.where), top.level, file.size, warnings=list(file.warnings))
        scanned = scan(file.text)
        node.numbers = scanned.numbers
        if scanned.open_comment:
            node.warnings.append(f"line {scanned.open_comment}: a comment is opened and never closed")
        for piece in scanned.pieces:
            node.pieces.append(piece if isinstance(piece, str) else self._include(piece, top, stack))
        if file.is_cut:
            node.cut = f"the file is longer than {FILE_BYTES:,} bytes"
        return node

    def _include(self, directive: Directive, top: TopFile, stack: tuple[str, ...]) -> Include:
        include = Include(directive.path, directive.line, "skipped", directive.problem)
        self._includes += 1
        if include.reason:
            return include
        if self._includes > MOST_INCLUDES:
            include.reason = f"more than {MOST_INCLUDES:,} includes"
            return include
        try:
            meant = meant_path(directive.path, os.path.dirname(stack[-1]), self._home)
            path = self.trace.resolve(meant)
            self._place(include, path, top, stack)
        except Unreadable as error:
            include.reason = str(error)
        except ValueError:  # a NUL in the path
            include.reason = "not a file name"
        return include

    def _place(self, include: Include, path: str, top: TopFile, stack: tuple[str, ...]) -> None:
        """Puts the file in its place, or says in ``include`` why not."""
        if path in stack:
            chain = [*stack[stack.index(path) :], path]
            include.reason = "a cycle: " + " → ".join(map(self.shown, chain))
            return
        if path in self._seen:
            include.outcome, include.reason = "duplicate", f"already included above, in {self._seen[path]}"
            return
        approved = None
        if not top.boundary.allows(path):
            approved = self._approvals.digest(Path(path)) if self._approvals else None
            self.trace.approved[path] = approved
            if approved is None:
                include.reason, include.outside = OUTSIDE, Path(path)
                return
        if len(stack) > DEPTH:
            include.reason = f"nested deeper than {DEPTH}"
            return
        file = self._read(path)
        if approved is not None and approved != content_digest(file):
            include.reason, include.outside = f"{OUTSIDE}, and changed since it was approved", file.path
            return
        self._seen[path] = self.shown(stack[-1])
        include.outcome = "loaded"
        include.node = self._node(file, top, (*stack, path))


def content_digest(file: InstructionFile) -> str:
    """What an approval remembers of a file's content: BLAKE2b (16 bytes) in hex of its text."""
    import hashlib  # only for files from beyond the boundary

    return hashlib.blake2b(file.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
