"""Sessions as the options of a question, where there is no screen to pick one on."""

from __future__ import annotations

from pathlib import Path

from mewcode.repl.duration import duration
from mewcode.repl.panel import Option
from mewcode.sessions.find import list_sessions

_MOST = 30
"""A longer list is no help to who hears it read out; an id or a name reaches all."""


def session_options(sessions_dir: Path, now: float) -> tuple[Option, ...]:
    """The newest sessions, the newest first. Takes a while where there are many."""
    return tuple(
        Option(info.id, info.first_prompt or info.id, f"{duration(now - info.updated)} ago")
        for info in list_sessions(sessions_dir)[:_MOST]
    )
