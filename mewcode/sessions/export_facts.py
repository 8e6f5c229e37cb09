"""What an export says of a session besides what was said in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from mewcode.core.errors import SessionError
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.catalog_fold import SessionState, fold_line
from mewcode.sessions.catalog_glance import lines_in, open_conversation


class SessionFacts(msgspec.Struct, frozen=True):
    """``title``: the user's, else a model's, else the first prompt. ``updated``: Unix time."""

    id: str
    path: Path
    title: str
    updated: float
    model: str
    tags: list[str]
    pinned: bool


def facts_of(folder: Path, check: Callable[[], object] = lambda: None) -> SessionFacts:
    """Reads them from the session's file, not from a catalogue. ``check`` is called with each line, and ends
    the reading by what it raises. Raises SessionError."""
    state = SessionState()
    path = folder / CONVERSATION
    try:
        with open_conversation(folder) as stream:
            changed = os.fstat(stream.fileno()).st_mtime
            for line, _ in lines_in(stream):
                check()
                for _ in fold_line(state, line, lambda key: True):
                    pass
    except OSError as error:
        raise SessionError(
            f"Session {folder.name} cannot be read: {error.strerror or error} ({path})"
        ) from error
    return SessionFacts(
        id=folder.name,
        path=folder,
        title=state.shown_title,
        updated=state.last_ts or changed,
        model=state.model,
        tags=state.tags,
        pinned=state.pinned,
    )
