"""The list of a workspace's sessions at once: what the catalogue's cache holds and which folders there are.
No conversation is opened, no cache is made or mended."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from mewcode.core.codec import clean_text
from mewcode.sessions.catalog_entry import CatalogEntry, decode_entries, with_titles
from mewcode.sessions.workspaces import Workspace, cache_path

VERSION = 3
"""Of the catalogue's schema. A cache of another version is made anew."""
_WAIT_SECONDS = 0.02
"""How long a cache that another process holds is waited for: readers hardly ever need to."""
_NAME = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-[0-9a-f]{4,16}")


def known_entries(workspace: Workspace) -> list[CatalogEntry]:
    """All sessions of the workspace, in no order. Of one that the cache does not know, only the id is known,
    and its age by that; one whose folder's name says no time is left out until it was read. Never raises."""
    names = _names(workspace.sessions_dir)
    if not names:
        return []
    place, root = str(workspace.sessions_dir), str(workspace.root)
    entries = [entry for entry in _cached(workspace, place, root) if entry.id in names]
    entries = with_titles(entries)
    new = names - {entry.id for entry in entries}
    entries += [
        CatalogEntry(place, clean_text(root), name, updated=started, indexed=False)
        for name, started in _started(new)
    ]
    return entries


def _names(sessions_dir: Path) -> set[str]:
    """The names of folders. A link to one is none: it may lead anywhere."""
    try:
        with os.scandir(sessions_dir) as entries:
            return {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
    except OSError:  # no folder yet, or none that may be read: no sessions either way
        return set()


def _cached(workspace: Workspace, place: str, root: str) -> list[CatalogEntry]:
    import sqlite3  # a list without a cache needs none

    cache = cache_path(workspace.sessions_dir)
    if not cache.is_file():
        return []
    try:
        connection = sqlite3.connect(cache, timeout=_WAIT_SECONDS, isolation_level=None)
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                return []
            rows = connection.execute("SELECT entry FROM listed").fetchall()
        finally:
            connection.close()
        return decode_entries([row[0] for row in rows], place, root)
    except (sqlite3.Error, ValueError):  # damaged or busy: whoever refreshes it mends it
        return []


def _started(names: set[str]) -> Iterator[tuple[str, float]]:
    """Those that are sessions by their names, with the Unix time that these say (in local time)."""
    days: dict[str, float] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        year, month, day, hour, minute, second = map(int, match.groups())
        if name[:8] not in days:
            try:
                days[name[:8]] = time.mktime((year, month, day, 0, 0, 0, 0, 0, -1))
            except (OverflowError, ValueError):  # no such day on this system
                days[name[:8]] = 0.0
        yield name, days[name[:8]] + hour * 3600 + minute * 60 + second
