"""Joins the engine of recall with the notes of this workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mewcode.core.errors import NoteError
from mewcode.infra.paths import Places, cache_dir, home_of
from mewcode.memory.entry import Entry
from mewcode.memory.paths import MEMORY, project_places, user_folder
from mewcode.memory.recall.engine import Engine, index_path
from mewcode.memory.recall.semantic import embedder_loader
from mewcode.memory.store import NoteStore


def open_recall(places: Places, environ: Mapping[str, str]) -> Engine:
    """The index of what this user may be reminded of in this workspace. Nothing is read yet."""
    notes = project_places(places).project / MEMORY
    caches = cache_dir(environ, home_of(environ))
    path = index_path(caches, user_folder(places, environ), notes, places.project / "sessions")
    return Engine(path, embedder_loader())


def refresh_notes(
    engine: Engine,
    store: NoteStore,
    stop: Callable[[], bool] | None = None,
    entries: Iterable[Entry] | None = None,
) -> bool:
    """Brings the notes in force up to date, which ``entries`` are where they were looked up already; whether
    all are known. For the background. Raises NoteError."""

    def body(entry: Entry) -> str | None:
        try:
            found = store.read(entry.level, entry.file)
        except NoteError:  # gone or locked away since the look
            return None
        return found.note.body if found else None

    return engine.update_notes(store.live() if entries is None else entries, body, stop)
