"""The thread that gives texts their vectors, and what it knows of them. It never raises, and nobody waits for
it: until it is ready, recall goes by words alone.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from sqlite3 import Connection
from typing import TYPE_CHECKING, Protocol, TypeVar

from mewcode.memory.recall import semantic_tables as tables
from mewcode.memory.recall.semantic import Embedder, LoadEmbedder, NoEmbedder
from mewcode.memory.recall.values import COLLECTIONS, Collection

if TYPE_CHECKING:
    from mewcode.memory.recall.semantic import Vector
    from mewcode.memory.recall.semantic_space import Space

T = TypeVar("T")

_LOG = logging.getLogger("mewcode.recall")
_SECONDS_BEFORE = 2.0
"""How long nothing is loaded, unless somebody waits for it: the first request of a session goes first."""
_BATCH = 16
"""Texts whose vectors are kept at once."""
_WORTH_OF_PART = 0.5
"""How much the vectors of a note's description, body and aliases count beside that of all but its aliases:
a note that says much is still found by one thing of it. Chosen on one half of ``evals/recall-notes.json`` and
on ``evals/recall-situations.json``."""
_RENEW_SHARE = 20
"""While many texts wait, what is known is renewed so that it takes one part in so many of the time."""
_NICE = 10
_MOST_QUESTIONS = 16
"""Questions that are remembered: a turn asks the same one several times."""


class Transaction(Protocol):
    """Does some work with the index, all of it or none; None where the index cannot be used."""

    def __call__(self, work: Callable[[Connection], T], /) -> T | None: ...


class Asked:
    """A question that is made a vector in a thread of its own, which takes some 25 ms, while words are looked
    up. ``script``: the one it is in; ``spaces``: what there is to compare it with."""

    def __init__(self, embedder: Embedder, question: str, spaces: Mapping[Collection, Space]) -> None:
        from mewcode.memory.recall.semantic_space import script_of

        self.script = script_of(question)
        self.spaces = spaces
        self._vector: Vector | None = None
        self._thread = threading.Thread(
            target=self._find, args=(embedder, question), name="recall-question", daemon=True
        )
        self._thread.start()

    def vector(self, until: float = math.inf) -> Vector | None:
        """Waits for it, no longer than ``until`` (`time.monotonic`); None where there is none then, and where
        it is later already: to compare it takes time as well."""
        left = until - time.monotonic()
        if left <= 0:
            return None
        self._thread.join(None if left == math.inf else left)
        return self._vector

    def _find(self, embedder: Embedder, question: str) -> None:
        try:
            self._vector = embedder.question(question)
        except Exception as error:  # noqa: BLE001 - whatever it is, there is an answer by words
            _LOG.warning("recall: a question has no vector: %s", type(error).__name__)


class SemanticWorker:
    """Of one index. ``read`` and ``write`` are called in its thread alone, which starts with the second
    `wake`: the first comes of what a request waits for, and to start a thread takes that long again."""

    def __init__(self, load: LoadEmbedder, read: Transaction, write: Transaction) -> None:
        self._load = load
        self._read = read
        self._write = write
        self._changed = threading.Condition()
        self._is_woken = False
        self._is_idle = True
        self._is_closed = False
        self._is_hurried = False
        self._thread: threading.Thread | None = None
        self._embedder: Embedder | None = None
        self._spaces: Mapping[Collection, Space] | None = None
        self._version: int | None = None
        self._questions: dict[str, Asked] = {}

    def wake(self) -> None:
        """Has it look for what is new."""
        with self._changed:
            if self._is_closed:
                return
            is_second = self._is_woken
            self._is_woken, self._is_idle = True, False
            self._changed.notify_all()
            if is_second:
                self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="recall-vectors", daemon=True)
            self._thread.start()

    @property
    def is_on(self) -> bool:
        """Whether texts will get vectors."""
        return not self._is_closed

    def close(self) -> None:
        """Ends it once the text at hand has its vector."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Waits until all texts have their vectors, or will not get any; whether that came in time."""
        with self._changed:
            if self._is_closed:
                return True
            self._is_hurried = self._is_woken = True
            self._is_idle = False
            self._changed.notify_all()
            self._start()
            return self._changed.wait_for(lambda: self._is_idle, seconds)

    def asked(self, question: str) -> Asked | None:
        """The question, as it is to be compared; None until all is loaded."""
        embedder, spaces = self._embedder, self._spaces
        if embedder is None or spaces is None or not any(map(len, spaces.values())):
            return None
        asked = self._questions.get(question)
        if asked is None or asked.spaces is not spaces:
            asked = Asked(embedder, question, spaces)
            self._questions = dict([*self._questions.items(), (question, asked)][-_MOST_QUESTIONS:])
        return asked

    def _work(self) -> None:
        _give_way()
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._is_hurried, _SECONDS_BEFORE)
        try:
            self._go_on()
        except NoEmbedder as error:
            _LOG.warning("recall: by words alone: %s", error)
        except Exception as error:  # noqa: BLE001 - what goes by words does not end for it
            _LOG.warning("recall: no more vectors are made: %s", type(error).__name__)
        self.close()
        with self._changed:
            self._is_idle = True
            self._changed.notify_all()

    def _go_on(self) -> None:
        """Until it is closed. Raises NoEmbedder, and whatever an embedder does against its promise."""
        if self._is_closed:
            return
        self._embedder = self._load()
        while self._is_next():
            if self._spaces is None:
                self._renew()
            self._embed_all()

    def _is_next(self) -> bool:
        """Waits for something to do; false once there will be nothing more."""
        with self._changed:
            if not self._is_woken:
                self._is_idle = True
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_woken or self._is_closed)
            self._is_woken = False
            return not self._is_closed

    def _embed_all(self) -> None:
        """Gives all texts that wait their vectors, and renews what is known meanwhile."""
        from mewcode.memory.recall.semantic_space import packed, script_of

        embedder = self._embedder
        assert embedder is not None
        until = time.monotonic()
        while batch := self._read(lambda connection: tables.waiting(connection, _BATCH)):
            made = []
            for digest, (text, *parts) in batch:
                if self._is_closed:
                    return
                vector = embedder.passage(text)
                for part in filter(None, parts):
                    vector = vector + _WORTH_OF_PART * embedder.passage(part)
                made.append((digest, script_of(text), packed(vector)))
            if self._write(partial(tables.keep, vectors=made)) is None:
                break
            began = time.monotonic()
            if began > until:
                self._renew()
                until = time.monotonic() + _RENEW_SHARE * (time.monotonic() - began)
        self._renew()

    def _renew(self) -> None:
        """Reads the vectors again, where anything has changed."""
        from mewcode.memory.recall.semantic_space import Space

        version = self._read(tables.version)
        if version is None or version == self._version:
            return
        self._write(tables.tidy)
        version = self._read(tables.version)
        spaces: dict[Collection, Space] = {}
        for name in COLLECTIONS:
            found = self._read(partial(tables.rows_with_vectors, collection=name))
            if found is None:
                return
            spaces[name] = Space(found)
        self._spaces, self._version = spaces, version


def _give_way() -> None:
    """Has this thread wait for whoever else wants to work."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        except OSError as error:
            _LOG.info("recall: the thread of vectors runs like any other: %s", error.strerror)
