"""Sessions to choose from, of this folder, of its repository, and of every workspace: what a picker needs.

No connection and no file stays open between two calls, so each may be made in a thread of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.infra.paths import Places
from mewcode.sessions.catalog_entry import CatalogEntry, Found, Hit
from mewcode.sessions.catalog_list import known_entries
from mewcode.sessions.workspaces import Workspace, cache_path, known_roots, work_trees, workspace_of

if TYPE_CHECKING:
    from mewcode.core.message import Message
    from mewcode.sessions.catalog import Catalog

THIS_FOLDER, REPOSITORY, EVERYWHERE = "this folder", "this repository", "everywhere"
REGEX = "re:"
"""What a query begins with that is a regular expression."""
_PAUSE = 0.1
"""Seconds between two words about what is newly known; more where a list takes long to make."""
_BUSY_SHARE = 4
_MOST_HITS = 100
_PREVIEW_TOKENS = 8_000


class SessionBrowser:
    """Implements the picker's `SessionSource`. ``now``: the clock."""

    scopes: Sequence[str] = (THIS_FOLDER, REPOSITORY, EVERYWHERE)

    def __init__(self, places: Places, now: Callable[[], float] = time.time) -> None:
        """Reads nothing."""
        self._places = places
        self._now = now
        self._trashed: dict[Path, Path] = {}

    def known(self, scope: str) -> list[CatalogEntry]:
        """All sessions of the scope, in no order, without reading a conversation: see `known_entries`."""
        found = []
        for workspace in workspaces_in(self._places, scope):
            found += known_entries(workspace)
        return found

    def refresh(
        self, scope: str, changed: Callable[[Sequence[CatalogEntry]], None], stop: Callable[[], bool]
    ) -> None:
        """Brings the catalogues of the scope up to date, this folder's first and in each the newest sessions
        first. ``changed`` is given all sessions some times a second while more is learned, and at the end."""
        workspaces = workspaces_in(self._places, scope)
        lists = {workspace: known_entries(workspace) for workspace in workspaces}
        tell = _Throttle(lambda: changed([entry for entries in lists.values() for entry in entries]))
        for workspace in workspaces:
            if stop():
                return
            self._refresh_one(workspace, lists, tell, stop)
        tell.now()

    def _refresh_one(
        self,
        workspace: Workspace,
        lists: dict[Workspace, list[CatalogEntry]],
        tell: _Throttle,
        stop: Callable[[], bool],
    ) -> None:
        if not workspace.sessions_dir.is_dir():
            lists[workspace] = []
            return
        with closing(open_catalog(workspace)) as catalog:

            def take(found: Catalog) -> None:
                lists[workspace] = found.entries()

            def stepped() -> None:
                if tell.is_due():
                    take(catalog)
                    tell.now()

            catalog.run(take, stop, stepped)

    def search(self, query: str, scope: str, stop: Callable[[], bool]) -> Found:
        """The messages that hold the query, at most 100: ``"words"`` as a phrase, words in any order, or
        ``re:pattern`` (see `regex_search`). Of what the catalogue does not know yet, only ``re:`` finds
        something. Raises SessionError for a pattern that makes no sense."""
        workspaces = workspaces_in(self._places, scope)
        if query.startswith(REGEX):
            from mewcode.sessions.regex_search import regex_search

            pattern = query.removeprefix(REGEX).strip()
            if not pattern:
                return Found([])
            by_regex = regex_search(pattern, newest_folders(workspaces), _MOST_HITS + 1, stop)
            return _bounded(by_regex.hits, by_regex.is_complete)
        from mewcode.sessions.catalog_search import search

        hits: list[Hit] = []
        for workspace in workspaces:
            if stop() or not workspace.sessions_dir.is_dir():
                continue
            with closing(open_catalog(workspace)) as catalog:
                hits += catalog.attempt(lambda found: search(found, query, _MOST_HITS + 1, stop))
        return _bounded(hits)

    def rename(self, entry: CatalogEntry, title: str) -> None:
        """Gives the session a title; an empty one takes the user's own back. Raises SessionError."""
        from mewcode.sessions.catalog_fold import label_text
        from mewcode.sessions.labels import add_label
        from mewcode.sessions.record import title_record

        add_label(entry.path, title_record(label_text(title), ts=self._now()))

    def pin(self, entry: CatalogEntry, pinned: bool, /) -> None:
        """Raises SessionError."""
        from mewcode.sessions.labels import add_label
        from mewcode.sessions.record import pin_record

        add_label(entry.path, pin_record(pinned, ts=self._now()))

    def trash(self, entry: CatalogEntry) -> None:
        """Moves the session to the trash. Raises SessionBusy where it is open, SessionError."""
        from mewcode.sessions.trash import move_to_trash

        self._trashed[entry.path] = move_to_trash(Path(entry.sessions_dir), entry.path, now=self._now())

    def restore(self, entry: CatalogEntry) -> None:
        """Brings back a session that `trash` moved there. Raises SessionError."""
        from mewcode.sessions.trash import restore_session

        lies_at = self._trashed.pop(entry.path, entry.path)
        restore_session(Path(entry.sessions_dir), lies_at.name)

    def open_by(self, entry: CatalogEntry) -> tuple[int, float] | None:
        """Process and since when (Unix time) of who has the session open; None where nobody has."""
        from mewcode.sessions.lock import held_by

        return held_by(entry.path)

    def preview(self, entry: CatalogEntry) -> Sequence[Message]:
        """The end of the conversation, some pages of it. Raises SessionError."""
        from mewcode.sessions.reader import load_session

        return load_session(entry.path, tokens=_PREVIEW_TOKENS).messages


class _Throttle:
    """Does ``work`` not too often: `is_due` says when it may be done again."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._next = time.monotonic() + _PAUSE

    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def now(self) -> None:
        began = time.monotonic()
        self._work()
        ended = time.monotonic()
        self._next = ended + max(_PAUSE, _BUSY_SHARE * (ended - began))


def _bounded(hits: list[Hit], is_complete: bool = True) -> Found:
    return Found(hits[:_MOST_HITS], is_complete and len(hits) <= _MOST_HITS)


def workspaces_in(places: Places, scope: str) -> list[Workspace]:
    """The workspaces of a scope (see `SessionBrowser.scopes`), this one first. Never raises."""
    found = {places.root: Workspace(places.root, places.project / "sessions")}
    roots: list[Path] = []
    if scope in (REPOSITORY, EVERYWHERE):
        roots += work_trees(places.root)
    if scope == EVERYWHERE:
        roots += known_roots(places.user)
    for root in roots:
        found.setdefault(root, workspace_of(root, places.user))
    return list(found.values())


def open_catalog(workspace: Workspace) -> Catalog:
    """The workspace's catalogue, to be closed by the caller."""
    from mewcode.sessions.catalog import Catalog

    return Catalog(workspace.sessions_dir, cache_path(workspace.sessions_dir), str(workspace.root))


def newest_folders(workspaces: Sequence[Workspace]) -> list[Path]:
    """The folders of all sessions, the one written last first."""
    from mewcode.sessions.find import scan_sessions

    found = [item for workspace in workspaces for item in scan_sessions(workspace.sessions_dir)]
    return [path for _, _, path in sorted(found, key=lambda item: (item[0], item[2].name), reverse=True)]


def update(places: Places, stop: Callable[[], bool]) -> None:
    """Brings the catalogue of this workspace up to date, so that a picker opened later has all at once. For a
    thread in the background; ends soon after ``stop()``. Never raises because of a file or the cache."""
    workspace = Workspace(places.root, places.project / "sessions")
    if workspace.sessions_dir.is_dir():
        with closing(open_catalog(workspace)) as catalog:
            catalog.run(lambda found: None, stop, lambda: None)
