"""The instructions of a session: what its prompt holds, what has changed since, what tools come upon."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import msgspec

from mewcode.instructions.cache import InstructionCache, pays
from mewcode.instructions.discover import candidates, in_folder
from mewcode.instructions.limits import TOTAL_BYTES, cut_at_line
from mewcode.instructions.load import Document, Instructions, Loader
from mewcode.instructions.reminders import CHANGED
from mewcode.instructions.told import Told
from mewcode.instructions.touched import TouchedInstructions
from mewcode.instructions.trace import Trace

_DIFF_BYTES = 8_000
"""Bytes of a change that are shown as a difference; of a larger one, so much of the beginning."""
_CONTEXT = 2
"""Lines around each change."""


class LiveInstructions:
    """``make_loader`` gives a fresh loader each time all is read anew. May be called from any thread."""

    def __init__(self, make_loader: Callable[[], Loader]) -> None:
        self._make_loader = make_loader
        self._lock = threading.RLock()
        self._loaded: Instructions | None = None
        self._touched: TouchedInstructions | None = None
        # What is for the prompt as read last, and what is in it. By file: what the model knows of all files,
        # and what it knew of them when the prompt was built.
        self._told = Told()
        self._in_prompt = Told()
        self._known: dict[str, str] = {}
        self._known_first: dict[str, str] = {}
        self._trace: Trace | None = None
        self._is_settled = True

    def begin_with(self, told: Told) -> None:
        """The prompt was built before, of this: what is not so now is a change."""
        with self._lock:
            self._loaded = Instructions([], [], [], TOTAL_BYTES)
            self._told = self._in_prompt = told
            self._known = self._known_first = dict(told.sections)
            self._is_settled = False

    def build(self) -> str:
        """The module of the system prompt, read now. What tools came upon stays known: where the conversation
        is not the same any more, `conversation_changed` says so."""
        with self._lock:
            paths = self._touched.paths if self._touched is not None else ()
            beside = {name: text for name, text in self._known.items() if name not in self._known_first}
            self._load()
            self._in_prompt = self._told
            self._known_first = dict(self._told.sections)
            self._read_touched(paths)
            # What the prompt does not hold is known as it was told, not as it was read just now.
            now, self._known = self._known, {**beside, **self._known_first}
            self._is_settled &= self._known == now
            return self._in_prompt.text()

    def keep_in(self, cache: InstructionCache) -> None:
        """Keeps for the next start what `build` has read, in a thread: unless it is little, or something in
        it waits for the user's word."""
        with self._lock:
            loaded, told, trace = self._loaded, self._told, self._trace
        if loaded is None or trace is None or not pays(trace) or loaded.outside():
            return
        # The program's end waits for it: milliseconds.
        threading.Thread(target=cache.keep, args=(told, trace), name="keep-instructions").start()

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
        now, _, found = self._look_apart()
        parts, beside = _parts(now), _sections(found)
        with self._lock:
            if self._loaded is None:
                return ()
            self._is_settled = False  # where times tell nothing, `change` is to read as well
            told = {name: text for name, text in self._known.items() if name not in self._known_first}
            names = _unlike(_parts(self._in_prompt), parts)
            names += _unlike(dict(self._told.rules), dict(now.rules))
            names += [name for name in _unlike(told, beside) if name not in parts]
            return tuple(dict.fromkeys(names))

    def change(self) -> str:
        """What the model is to be told of files that changed since the prompt was built, or since the last
        change that was told; "" for none. Looks at the files' times first: milliseconds for a thousand."""
        with self._lock:
            if self._loaded is None or (self._is_settled and self._is_as_read()):
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
            before = len(touched.documents)
            text = touched.reminder(paths, told)
            self._known = {**self._known, **_sections(touched.documents[before:])}
            self._is_settled &= all(trace.is_sure() for trace in touched.traces)
            return text

    def conversation_changed(self) -> None:
        """The conversation is another one, or went back: what it was told may be told again, unless it is
        named as told."""
        with self._lock:
            self._touched = None
            if self._known != self._known_first:
                self._known, self._is_settled = self._known_first, False

    def _look_apart(self) -> tuple[Told, Instructions, list[Document]]:
        """A reading that changes nothing here: what the prompt would say, all of it, what tools came upon."""
        loader = self._make_loader()
        loaded = loader.load()
        told = loaded.told()
        with self._lock:
            paths = self._touched.paths if self._touched is not None else ()
        return told, loaded, TouchedInstructions(loader, loaded).read(paths)

    def _load(self) -> Instructions:
        loader = self._make_loader()
        loaded = loader.load()
        self._loaded = loaded
        self._told = loaded.told()
        self._trace = loader.traces[0]
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
        self._is_settled = all(trace.is_sure() for trace in self._traces())

    def _documents(self) -> list[Document]:
        documents = list(self._loaded.documents) if self._loaded is not None else []
        return documents + (self._touched.documents if self._touched is not None else [])

    def _is_as_read(self) -> bool:
        """Whether the same files are there, each as it was when it was read."""
        places = self._make_loader().places
        folders = self._touched.folders if self._touched is not None else ()
        now = [*candidates(places), *(file for folder in folders for file in in_folder(folder, places))]
        traces = self._traces()
        found = [path for trace in traces for path in trace.found]
        return found == [str(file.path) for file in now] and all(trace.holds() for trace in traces)

    def _traces(self) -> list[Trace]:
        first = [self._trace] if self._trace is not None else []
        return first + (self._touched.traces if self._touched is not None else [])


def _sections(documents: Iterable[Document]) -> dict[str, str]:
    return {document.node.shown: document.section() for document in documents}


def _parts(told: Told) -> dict[str, str]:
    """What the prompt says of each file."""
    return dict((*told.sections, *told.skipped))


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
