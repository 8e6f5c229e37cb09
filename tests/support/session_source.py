"""Sessions in memory, for the picker. What it does to them is recorded."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mewcode.core.errors import SessionError
from mewcode.core.message import Message
from mewcode.sessions.catalog_entry import CatalogEntry

LIMIT = 20.0
"""Seconds that a call waits at a gate before it gives up."""


@dataclass(frozen=True)
class Hit:
    path: Path
    turn: int
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Found:
    hits: list[Hit]
    is_complete: bool = True


def entry(name: str, title: str = "", folder: str = "/work", **more: Any) -> CatalogEntry:
    """A session of that id."""
    bare = CatalogEntry(
        f"{folder}/.mewcode/sessions", folder, name, title, first_prompt=title, updated=1000.0
    )
    return msgspec.structs.replace(bare, **({"messages": 4, "size": 1500} | more))


@dataclass
class MemorySource:
    """`SessionSource` over ``lists`` by scope. ``later`` is what a refresh finds; ``texts`` by session is
    what a search looks through, ``is_complete`` what it says of itself. A call whose name is in ``gates``
    waits for its event. ``failures`` by the name of a call are raised by it."""

    lists: dict[str, list[CatalogEntry]]
    later: dict[str, list[list[CatalogEntry]]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    holders: dict[str, tuple[int, float]] = field(default_factory=dict)
    messages: Sequence[Message] = ()
    is_complete: bool = True
    gates: dict[str, threading.Event] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def scopes(self) -> Sequence[str]:
        return tuple(self.lists)

    def _call(self, name: str, *arguments: Any) -> None:
        self.calls.append((name, *arguments))
        if name in self.gates:
            assert self.gates[name].wait(LIMIT)
        if name in self.failures:
            raise SessionError(self.failures[name])

    def known(self, scope: str) -> list[CatalogEntry]:
        self._call("known", scope)
        return self.lists[scope]

    def refresh(
        self, scope: str, changed: Callable[[Sequence[CatalogEntry]], None], stop: Callable[[], bool]
    ) -> None:
        self._call("refresh", scope)
        for entries in self.later.get(scope, ()):
            if not stop():
                changed(entries)

    def search(self, query: str, scope: str, stop: Callable[[], bool]) -> Found:
        self._call("search", query, scope)
        pattern = query.removeprefix("re:") if query.startswith("re:") else re.escape(query.strip('"'))
        try:
            finder = re.compile(pattern)
        except re.error as error:
            raise SessionError(f"That is no regular expression: {error}") from error
        found = []
        for session in self.lists[scope]:
            for turn, text in enumerate(self.texts.get(session.id, ()), 1):
                if match := finder.search(text):
                    marks = (match.span(),) if query.startswith("re:") else ()
                    found.append(Hit(session.path, turn, text, marks))
        return Found(found, self.is_complete)

    def rename(self, entry: CatalogEntry, title: str) -> None:
        self._call("rename", entry.id, title)

    def pin(self, entry: CatalogEntry, pinned: bool, /) -> None:
        self._call("pin", entry.id, pinned)

    def trash(self, entry: CatalogEntry) -> None:
        self._call("trash", entry.id)

    def restore(self, entry: CatalogEntry) -> None:
        self._call("restore", entry.id)

    def open_by(self, entry: CatalogEntry) -> tuple[int, float] | None:
        self._call("open_by", entry.id)
        return self.holders.get(entry.id)

    def preview(self, entry: CatalogEntry) -> Sequence[Message]:
        self._call("preview", entry.id)
        return self.messages
