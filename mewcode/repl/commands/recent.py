"""The newest sessions, to be completed behind `/resume`."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.repl.commands.registry import Values

if TYPE_CHECKING:
    from mewcode.agent.session import Session

_MOST = 30
_FRESH = 10.0
"""Seconds for which what was found is not looked for again: a key press asks."""


class RecentSessions:
    """A `LookUp` of at most 30 sessions. Their names tell their age, so that no more files are opened."""

    def __init__(self) -> None:
        self._found: Values = ()
        self._until = 0.0

    def __call__(self, session: Session, typed: str) -> Values:
        now = time.monotonic()
        if now >= self._until:
            self._found = _newest(session.around.places.project / "sessions")
            self._until = now + _FRESH
        wanted = typed.casefold()
        return tuple(
            (value, about)
            for value, about in self._found
            if value.casefold().startswith(wanted) and value != session.id
        )


def _newest(sessions_dir: Path) -> Values:
    """Ids with their titles; those that the user named are found by that name too."""
    from mewcode.sessions.catalog_glance import glance

    try:
        names = sorted(os.listdir(sessions_dir), reverse=True)[:_MOST]
    except OSError:  # no folder yet, or none that may be read
        return ()
    found: list[tuple[str, str]] = []
    named: list[tuple[str, str]] = []
    for name in filter(str.isprintable, names):
        with suppress(OSError):  # no session, or one that is locked away
            state = glance(sessions_dir / name)
            found.append((name, state.shown_title))
            if state.title:
                named.append((state.title, name))
    return (*found, *named)
