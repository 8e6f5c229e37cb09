"""The instructions of a session: what its prompt holds, what has changed since, what tools come upon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mewcode.instructions.discover import candidates
from mewcode.instructions.limits import cut_at_line
from mewcode.instructions.load import Instructions, Loader
from mewcode.instructions.touched import TouchedInstructions
from mewcode.instructions.tree import Node

_DIFF_BYTES = 8_000
"""Bytes of a change that are shown as a difference; of a larger one, so much of the beginning."""
_CONTEXT = 2
"""Lines around each change."""

_Sign = tuple[int, int, int] | None


class LiveInstructions:
    """``make_loader`` gives a fresh loader each time all is read anew. Not for several threads at once."""

    def __init__(self, make_loader: Callable[[], Loader]) -> None:
        self._make_loader = make_loader
        self._loaded: Instructions | None = None
        self._touched: TouchedInstructions | None = None
        self._signs: dict[Path, _Sign] = {}

    def build(self) -> str:
        """The module of the system prompt, read now. What tools had come upon will be told again, since a
        prompt is built where the conversation begins anew."""
        return self._load().text()

    @property
    def loaded(self) -> Instructions:
        """What was read last; reads it where nothing was yet."""
        return self._loaded or self._load()

    def change(self) -> str:
        """What the model is to be told of files that changed since the prompt was built, or since the last
        change that was told; "" for none. Looks at the files' times first: a millisecond for a thousand."""
        if self._loaded is None or self._signs == dict(self._look(self._loaded)):
            return ""
        before = _sections(self._loaded)
        touched = self._touched
        after = _sections(self._load())
        self._touched = touched  # what it has told stands in the conversation
        names = [*after, *(name for name in before if name not in after)]
        changes = [
            _change(name, before.get(name, ""), after.get(name, ""))
            for name in names
            if before.get(name, "") != after.get(name, "")
        ]
        if not changes:
            return ""
        return "\n\n".join(["The instructions have changed on disk; from now on this holds:", *changes])

    def is_new(self, paths: Iterable[Path]) -> bool:
        """Whether `touch` has something to look at; microseconds."""
        return self._touched is not None and self._touched.is_new(paths)

    def touch(self, paths: Iterable[Path]) -> str:
        """What the model is to be told now that a tool touched these resolved paths; "" for nothing."""
        return self._touched.reminder(paths) if self._touched is not None else ""

    def _load(self) -> Instructions:
        loader = self._make_loader()
        loaded = loader.load()
        self._loaded = loaded
        self._touched = TouchedInstructions(loader, loaded)
        self._signs = dict(self._look(loaded, loader))
        return loaded

    def _look(self, loaded: Instructions, loader: Loader | None = None) -> Iterator[tuple[Path, _Sign]]:
        """The state of each file that was read or could be."""
        for candidate in candidates((loader or self._make_loader()).places):
            yield candidate.path, _sign(candidate.path)
        for document in loaded.documents:
            for path in _paths(document.node):
                yield path, _sign(path)
        for waiting in loaded.waiting:
            yield waiting.file.path, _sign(waiting.file.path)


def _sign(path: Path) -> _Sign:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _paths(node: Node) -> Iterator[Path]:
    """The file and all that it includes, and where what it missed would be."""
    yield node.path
    for include in node.includes():
        if include.node is not None:
            yield from _paths(include.node)
        elif include.missing is not None:
            yield include.missing


def _sections(loaded: Instructions) -> dict[str, str]:
    return {document.node.shown: document.section() for document in loaded.documents}


def _change(name: str, before: str, after: str) -> str:
    if not before:
        return f"New: {after}"
    if not after:
        return f"{name} is gone: what it said holds no more."
    import difflib  # only where a file changed

    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), name, name, n=_CONTEXT, lineterm="")
    difference = "\n".join(lines)
    if len(difference.encode("utf-8", "surrogatepass")) <= _DIFF_BYTES:
        return difference
    return f"{name} was rewritten. It begins with:\n{cut_at_line(after, _DIFF_BYTES)}"
