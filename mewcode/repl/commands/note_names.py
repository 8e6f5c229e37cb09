"""The names of notes, to be completed behind `/memory show` and its like."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mewcode.core.errors import NoteError
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.commands.registry import Values

if TYPE_CHECKING:
    from mewcode.agent.ports import NoteTaker
    from mewcode.agent.session import Session

NAMING = ("show", "forget", "pin", "unpin", "move")
"""The words of `/memory` that take a note's name."""
_FRESH = 10.0
"""Seconds for which what was found is not looked for again: a key press asks."""


class NoteNames:
    """A `LookUp` of the names of notes behind the words that take one."""

    def __init__(self) -> None:
        self._found: Values = ()
        self._until = 0.0

    def __call__(self, session: Session, typed: str) -> Values:
        word, space, name = typed.partition(" ")
        if session.notes is None or not space or word not in NAMING:
            return ()
        now = time.monotonic()
        if now >= self._until:
            self._found = _names(session.notes)
            self._until = now + _FRESH
        wanted = name.casefold()
        return tuple(
            (f"{word} {name}", about) for name, about in self._found if name.casefold().startswith(wanted)
        )


def _names(notes: NoteTaker) -> Values:
    try:
        live = notes.store().live()
    except NoteError:  # what is wrong is told where notes are used
        return ()
    return tuple(sorted((safe_line(entry.name, 120), f"{entry.type}, {entry.level}") for entry in live))
