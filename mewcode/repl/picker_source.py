"""What the session picker asks of the archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mewcode.core.message import Message
    from mewcode.sessions.catalog_entry import CatalogEntry


class SourceHit(Protocol):
    """A message that holds what was looked for. ``path``: the session's folder. ``turn``: as in the
    transcript. ``snippet``: one line of what stands around the match; ``marks``: where in it a regular
    expression matched, which must not be tried again here: some run for ever."""

    @property
    def path(self) -> Path: ...

    @property
    def turn(self) -> int: ...

    @property
    def snippet(self) -> str: ...

    @property
    def marks(self) -> Sequence[tuple[int, int]]: ...


class SourceHits(Protocol):
    """``is_complete``: nothing was left out, neither for number nor for time."""

    @property
    def hits(self) -> Sequence[SourceHit]: ...

    @property
    def is_complete(self) -> bool: ...


class SessionSource(Protocol):
    """Sessions to choose from. A session is its folder (`CatalogEntry.path`).

    All but ``scopes`` is called in threads, several at once; what takes long ends soon after ``stop()`` is
    true. Each may raise `MewCodeError`, whose message the user is shown.
    """

    @property
    def scopes(self) -> Sequence[str]:
        """Where to look, in the user's words, from the nearest to the widest; at least one."""
        ...

    def known(self, scope: str) -> Sequence[CatalogEntry]:
        """What is known without reading a conversation, in any order: at most 40 ms at 10,000 sessions. Of a
        session that the cache does not know yet, title and first prompt are empty."""
        ...

    def refresh(
        self, scope: str, changed: Callable[[Sequence[CatalogEntry]], None], stop: Callable[[], bool]
    ) -> None:
        """Brings the cache up to date. As more is known, ``changed`` is given all sessions of the scope, some
        times a second at most; in the end once more, where anything is other than before."""
        ...

    def search(self, query: str, scope: str, stop: Callable[[], bool]) -> SourceHits:
        """The messages of the scope's sessions that hold the query, the best first: ``"words"`` as a phrase
        (without the second quote its last word may go on), ``re:pattern`` as a regular expression."""
        ...

    def rename(self, entry: CatalogEntry, title: str) -> None:
        """Gives the session a title; "" takes the user's own away."""
        ...

    def pin(self, entry: CatalogEntry, pinned: bool, /) -> None: ...

    def trash(self, entry: CatalogEntry) -> None:
        """Moves it to the trash; one that a process has open stays (`SessionBusy`)."""
        ...

    def restore(self, entry: CatalogEntry) -> None:
        """Brings back what `trash` moved there."""
        ...

    def open_by(self, entry: CatalogEntry) -> tuple[int, float] | None:
        """Who has it open: process, and since when (Unix time, 0 where unknown); None where nobody."""
        ...

    def preview(self, entry: CatalogEntry) -> Sequence[Message]:
        """The end of the conversation, a bounded part of it."""
        ...
