"""What all sub-commands share: the project's sessions, the catalogue over them, and how they answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mewcode.core.codec import clean_text
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.options import Options
from mewcode.sessions.browse import EVERYWHERE, REPOSITORY, THIS_FOLDER, open_catalog, workspaces_in
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.catalog_entry import CatalogEntry
from mewcode.sessions.find import find_session
from mewcode.sessions.workspaces import Workspace

T = TypeVar("T")


class Context:
    """``sessions_dir`` need not exist. ``now``: Unix time, the same for all that one command does."""

    def __init__(self, options: Options, environ: Mapping[str, str], places: Places, now: float) -> None:
        self.options = options
        self.environ = environ
        self.places = places
        self.now = now
        self.sessions_dir = places.project / "sessions"

    def with_catalog(self, work: Callable[[Catalog], T]) -> T:
        """What ``work`` makes of this project's up-to-date catalogue; says what there is to say about the
        index."""
        return self._with_catalog_of(Workspace(self.places.root, self.sessions_dir), work)

    def with_each_catalog(self, work: Callable[[Catalog], T]) -> list[T]:
        """As `with_catalog`, for each workspace that the flags ask for, this one first."""
        return [
            self._with_catalog_of(workspace, work)
            for workspace in self.workspaces()
            if workspace.sessions_dir.is_dir() or workspace.root == self.places.root
        ]

    def workspaces(self) -> list[Workspace]:
        """Those that the flags ask for, this one first."""
        flags = self.options.session_flags
        return workspaces_in(
            self.places, EVERYWHERE if flags.everywhere else REPOSITORY if flags.repository else THIS_FOLDER
        )

    def _with_catalog_of(self, workspace: Workspace, work: Callable[[Catalog], T]) -> T:
        catalog = open_catalog(workspace)
        try:
            return catalog.run(work)
        finally:
            catalog.close()
            if catalog.notice:
                tell(catalog.notice)

    def entries(self) -> list[CatalogEntry]:
        """All sessions of this project, the newest first."""
        return self.with_catalog(Catalog.entries)

    def find(self, wanted: str) -> Path:
        """The folder of the session that was named. Raises SessionError."""
        return find_session(self.sessions_dir, wanted)

    def answer(self, value: Any, lines: Sequence[str]) -> None:
        """Prints the value for scripts, or the lines for a person."""
        if self.options.as_json:
            text = msgspec.json.format(msgspec.json.encode(value, enc_hook=_as_text), indent=2)
            sys.stdout.write(text.decode() + "\n")
        else:
            sys.stdout.write("".join(f"{safe_text(line)}\n" for line in lines))


def _as_text(value: Any) -> str:
    """A path for scripts; what of it is no UTF-8, JSON cannot carry."""
    return clean_text(str(value))


def tell(words: str) -> None:
    """A word to the person that is no part of the answer."""
    sys.stderr.write(f"mewcode: {safe_text(words)}\n")


def size_text(size: float) -> str:
    """Bytes as a person reads them: ``812 B``, ``3.4 MB``."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def age_text(seconds: float) -> str:
    """``5 min``, ``3 h``, ``12 d``."""
    minutes = max(0.0, seconds) / 60
    if minutes < 60:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < 48 * 60 else f"{minutes / 1440:.0f} d"


def entry_line(entry: CatalogEntry, now: float) -> str:
    """A session on one line."""
    marks = ("*" if entry.pinned else " ") + ("!" if entry.damaged else " ")
    tags = "".join(f" #{tag}" for tag in entry.tags)
    title = safe_line(entry.title, 100) or "(nothing said)"
    return (
        f"{safe_line(entry.id, 40):<20} {age_text(now - entry.updated):>7} {entry.messages:>6} msg"
        f" {size_text(entry.size):>9} {marks} {title}{tags}"
    )
