"""The knowledge base: the documents that the user named, kept in the index of recall and searched there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import msgspec

from mewcode.core.codec import clean_text
from mewcode.core.errors import MewCodeError
from mewcode.infra.stoppable import Stop
from mewcode.memory.knowledge.documents import Document, Walk, find_documents, pieces_of
from mewcode.memory.recall.engine import Engine
from mewcode.memory.recall.values import Passage

_READERS = 1
"""Another number when documents are read in another way: all are then read anew."""
_MOST_SAID = 32_000_000
"""Characters of all pieces of one document with their headings: a file may be made so that it says far more
than it holds."""
_PIECE = 100
"""What a piece counts for beside its text."""
_MOST_HITS = 400
"""Passages of one question that can be paged through."""


class Report(msgspec.Struct, frozen=True):
    """``documents``: how many there are; ``read``: how many of them were read now; ``problems``: what of the
    paths cannot be looked at, and which of the documents read now could not be, each with its reason.
    ``is_whole``: all that there is can be found."""

    documents: int
    read: int
    problems: tuple[str, ...]
    is_whole: bool


class Found(msgspec.Struct, frozen=True):
    """``more``: there are further passages behind these."""

    passages: tuple[Passage, ...]
    more: bool


class KnowledgeBase:
    """The documents in ``paths``: files and folders, absolute. What lies below ``root`` is shown relative to
    it. ``walk``: see `documents.Walk`. Made by reading nothing; the methods take a disk's time and raise
    nothing."""

    def __init__(self, engine: Engine, paths: Sequence[Path], root: Path, walk: Walk) -> None:
        self.paths = tuple(paths)
        self._engine = engine
        self._root = root
        self._walk = walk

    def refresh(self, progress: Callable[[int], object] | None = None, stop: Stop | None = None) -> Report:
        """Reads what is new or changed, forgets what is gone. ``progress`` is told how many documents were
        read so far; once ``stop()`` is true it ends, and goes on from there the next time."""

        def until_stopped(folder: Path) -> Iterable[str]:
            return takewhile(lambda _: stop is None or not stop(), self._walk(folder))

        found = find_documents(self.paths, self._root, until_stopped)
        documents = {str(document.path): document for document in found.documents}
        if stop is not None and stop():  # documents may be missing here that are there
            return Report(len(documents), 0, found.problems, False)
        problems = list(found.problems)
        count = 0

        def read(name: str) -> list[Passage]:
            nonlocal count
            count += 1
            if progress is not None:
                progress(count)
            try:
                return list(_passages(documents[name]))
            except (MewCodeError, OSError) as error:
                problems.append(f"{documents[name].shown}: {_reason(error)}")
                return []

        extras = _extras()
        signs = {name: f"{document.sign} {_READERS}{extras}" for name, document in documents.items()}
        is_whole = self._engine.update_documents(signs, read, stop)
        if self._engine.problem:
            problems.append(f"the index cannot be used: {self._engine.problem}")
        return Report(len(documents), count, tuple(problems), is_whole)

    def forget(self) -> None:
        """Forgets all documents, so that the next `refresh` reads each of them."""
        self._engine.update_documents({}, lambda _: None)

    def search(
        self, query: str, limit: int, offset: int = 0, may_show: Callable[[Path], bool] | None = None
    ) -> Found:
        """The passages that answer best, from the ``offset``-th on, of documents that ``may_show`` (absolute
        paths) does not refuse."""
        wanted = offset + limit + 1
        asked = wanted
        while True:
            asked = min(asked, _MOST_HITS)
            hits = self._engine.search(query, ("documents",), asked)
            shown = list(self._shown((hit.passage for hit in hits), may_show))
            if len(shown) >= wanted or len(hits) < asked or asked == _MOST_HITS:
                return Found(tuple(shown[offset : offset + limit]), len(shown) > offset + limit)
            asked *= 2

    def _shown(
        self, passages: Iterable[Passage | None], may_show: Callable[[Path], bool] | None
    ) -> Iterator[Passage]:
        """Those of documents that may be shown, and that still are where the paths say: the index may not
        know yet that the user took one back."""
        verdicts: dict[str, bool] = {}
        for passage in passages:
            if passage is None:
                continue
            if passage.path not in verdicts:
                path = self._root / passage.path
                is_ours = any(path.is_relative_to(top) for top in self.paths)
                verdicts[passage.path] = is_ours and (may_show is None or may_show(path))
            if verdicts[passage.path]:
                yield passage


def _passages(document: Document) -> Iterator[Passage]:
    """Raises MewCodeError and OSError."""
    title, shown = "", clean_text(document.shown)
    left = _MOST_SAID
    for place, piece in enumerate(pieces_of(document.path)):
        left -= len(piece.heading) + len(piece.text) + _PIECE
        if left < 0:
            raise MewCodeError("it says more than is kept of one document")
        if not place:
            title = piece.heading.partition(" > ")[0]
        yield Passage(f"{document.path}#{place}", title, shown, piece.heading, piece.line, piece.text)


def _reason(error: MewCodeError | OSError) -> str:
    return error.message if isinstance(error, MewCodeError) else error.strerror or str(error)


def _extras() -> str:
    """What can be read here beyond the plain forms: a document that could not be read is tried again."""
    from importlib.util import find_spec

    return " pdf" if find_spec("pypdf") is not None else ""
