"""The instructions of a session: what its prompt holds, what has changed since, what tools come upon."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from mewcode.instructions.discover import Candidate, candidates, in_folder
from mewcode.instructions.limits import TOTAL_BYTES, cut_at_line
from mewcode.instructions.load import Document, Instructions, Loader
from mewcode.instructions.reminders import CHANGED
from mewcode.instructions.touched import TouchedInstructions
from mewcode.instructions.tree import Node

_DIFF_BYTES = 8_000
"""Bytes of a change that are shown as a difference; of a larger one, so much of the beginning."""
_CONTEXT = 2
"""Lines around each change."""
_JUST_NOW = 50_000_000
"""Nanoseconds within which a file may change again without a new time: file systems count in steps of up to
10 ms."""

_Sign = tuple[int, int, int] | None


class LiveInstructions:
    """``make_loader`` gives a fresh loader each time all is read anew. May be called from any thread."""

    def __init__(self, make_loader: Callable[[], Loader]) -> None:
        self._make_loader = make_loader
        self._lock = threading.RLock()
        self._loaded: Instructions | None = None
        self._touched: TouchedInstructions | None = None
        # By file: what is for the prompt as read last, and what is in it; what the model knows of all files,
        # and what it knew of them when the prompt was built.
        self._parts: dict[str, str] = {}
        self._in_prompt: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._known_first: dict[str, str] = {}
        self._signs: dict[Path, _Sign] = {}
        self._is_settled = True

    def begin_without(self) -> None:
        """The prompt was built when there were no instructions: all that there is now is a change."""
        with self._lock:
            self._loaded = Instructions([], [], [], TOTAL_BYTES)
            self._is_settled = False

    def build(self) -> str:
        """The module of the system prompt, read now. What tools came upon stays known: where the conversation
        is not the same any more, `conversation_changed` says so."""
        with self._lock:
            paths = self._touched.paths if self._touched is not None else ()
            beside = {name: text for name, text in self._known.items() if name not in self._known_first}
            loaded = self._load()
            text, self._in_prompt = loaded.text(), self._parts
            self._known_first = _sections(loaded.documents)
            self._read_touched(paths)
            # What the prompt does not hold is known as it was told, not as it was read just now.
            now, self._known = self._known, {**beside, **self._known_first}
            self._is_settled &= self._known == now
            return text

    @property
    def loaded(self) -> Instructions:
        """What was read last for the prompt; reads it where nothing was yet."""
        with self._lock:
            if self._loaded is not None:
                return self._loaded
            loaded = self._load()
            self._read_touched(())
            return loaded

    def look(self) -> Instructions:
        """What is on disk now, read apart from all that is kept here; what tools came upon stands last."""
        _, loaded, found = self._look_apart()
        return msgspec.structs.replace(loaded, documents=[*loaded.documents, *found])

    def stale(self) -> tuple[str, ...]:
        """The files that are not on disk as the prompt, or the conversation, has them, whatever their times
        say. `build` and then `change` make that good."""
        parts, loaded, found = self._look_apart()
        beside = _sections(found)
        with self._lock:
            if self._loaded is None:
                return ()
            self._is_settled = False  # where times tell nothing, `change` is to read as well
            told = {name: text for name, text in self._known.items() if name not in self._known_first}
            names = [*_unlike(self._in_prompt, parts), *_unlike(_rules(self._loaded), _rules(loaded))]
            names += [name for name in _unlike(told, beside) if name not in parts]
            return tuple(dict.fromkeys(names))

    def change(self) -> str:
        """What the model is to be told of files that changed since the prompt was built, or since the last
        change that was told; "" for none. Looks at the files' times first: a millisecond for a thousand."""
        with self._lock:
            if self._loaded is None or (self._is_settled and self._signs == dict(self._look())):
                return ""
            return _reminder(self._reread())

    def is_new(self, paths: Iterable[Path]) -> bool:
        """Whether `touch` has something to look at; microseconds."""
        return self._loaded is not None and (self._touched is None or self._touched.is_new(paths))

    def touch(self, paths: Iterable[Path], told: Collection[str] = ()) -> str:
        """What the model is to be told now that a tool touched these resolved paths; "" for nothing.
        ``told``: the reminders that the conversation holds already."""
        with self._lock:
            if self._loaded is None:
                return ""
            if self._touched is None:
                loader = self._make_loader()
                self._touched = TouchedInstructions(loader, loader.load())
            touched = self._touched
            folders, documents = len(touched.folders), len(touched.documents)
            text = touched.reminder(paths, told)
            found = touched.documents[documents:]
            self._known = {**self._known, **_sections(found)}
            places = self._make_loader().places
            files = (
                file for folder in tuple(touched.folders)[folders:] for file in in_folder(folder, places)
            )
            for path, sign in _states(files, found):
                self._signs.setdefault(path, sign)
            return text

    def conversation_changed(self) -> None:
        """The conversation is another one, or went back: what it was told may be told again, unless it is
        named as told."""
        with self._lock:
            self._touched = None
            if self._known != self._known_first:
                self._known, self._is_settled = self._known_first, False

    def _look_apart(self) -> tuple[dict[str, str], Instructions, list[Document]]:
        """A reading that leaves no trace: what the prompt would say, all of it, what tools came upon."""
        loader = self._make_loader()
        loaded = loader.load()
        parts = _parts(loaded)
        with self._lock:
            paths = self._touched.paths if self._touched is not None else ()
        return parts, loaded, TouchedInstructions(loader, loaded).read(paths)

    def _load(self) -> Instructions:
        loader = self._make_loader()
        loaded = loader.load()
        self._loaded = loaded
        self._parts = _parts(loaded)
        self._touched = TouchedInstructions(loader, loaded)
        return loaded

    def _reread(self) -> dict[str, str]:
        """Reads all again, also what tools came upon; by file, what the model is to be told of it."""
        paths = self._touched.paths if self._touched is not None else ()
        before = self._known
        self._load()
        self._read_touched(paths)
        after = self._known
        return {
            name: _change(name, before.get(name, ""), after.get(name, "")) for name in _unlike(before, after)
        }

    def _read_touched(self, paths: Iterable[Path]) -> None:
        """Behind `_load`: reads again what tools came upon; all of it is known from now on."""
        if self._touched is not None:
            self._touched.read(paths)
        self._known = _sections(self._documents())
        self._note_signs()

    def _documents(self) -> list[Document]:
        documents = list(self._loaded.documents) if self._loaded is not None else []
        return documents + (self._touched.documents if self._touched is not None else [])

    def _note_signs(self) -> None:
        self._signs = dict(self._look())
        now = time.time_ns()
        self._is_settled = all(abs(now - sign[0]) > _JUST_NOW for sign in self._signs.values() if sign)

    def _look(self) -> Iterator[tuple[Path, _Sign]]:
        """The state of each file that was read or could be."""
        places = self._make_loader().places
        folders = self._touched.folders if self._touched is not None else ()
        yield from _states(candidates(places), self._documents())
        yield from _states((file for folder in folders for file in in_folder(folder, places)), ())
        for waiting in self._loaded.waiting if self._loaded is not None else ():
            yield waiting.file.path, _sign(waiting.file.path)


def _states(found: Iterable[Candidate], documents: Iterable[Document]) -> Iterator[tuple[Path, _Sign]]:
    for candidate in found:
        yield candidate.path, _sign(candidate.path)
    for document in documents:
        for path in _paths(document.node):
            yield path, _sign(path)


def _sign(path: Path) -> _Sign:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _paths(node: Node) -> Iterator[Path]:
    """The file and all that it includes, and where what it missed would be."""
    for file in node.walk():
        yield file.path
        yield from (include.missing for include in file.includes() if include.missing is not None)


def _sections(documents: Iterable[Document]) -> dict[str, str]:
    return {document.node.shown: document.section() for document in documents}


def _parts(loaded: Instructions) -> dict[str, str]:
    """What the prompt says of each file. To be asked before tools have come upon others."""
    return _sections(loaded.documents) | {item.shown: item.comment() for item in loaded.skipped}


def _rules(loaded: Instructions) -> dict[str, str]:
    """The rules that wait for a path, each with all that it says."""
    return {waiting.file.path.name: f"{waiting.rule.paths}{waiting.rule.text}" for waiting in loaded.waiting}


def _unlike(before: dict[str, str], after: dict[str, str]) -> list[str]:
    names = [*after, *(name for name in before if name not in after)]
    return [name for name in names if before.get(name, "") != after.get(name, "")]


def _reminder(changes: dict[str, str]) -> str:
    return "\n\n".join([CHANGED, *changes.values()]) if changes else ""


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
