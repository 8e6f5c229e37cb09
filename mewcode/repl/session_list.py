"""Sessions as the options of a question, where there is no screen to pick one on."""

from __future__ import annotations

from pathlib import Path

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.duration import duration
from mewcode.repl.panel import Option
from mewcode.sessions.catalog_glance import glance
from mewcode.sessions.catalog_list import known_entries
from mewcode.sessions.find import scan_sessions
from mewcode.sessions.workspaces import Workspace

_MOST = 30
"""A longer list is no help to who hears it read out; an id or a name reaches all."""


def session_options(sessions_dir: Path, now: float) -> tuple[Option, ...]:
    """The newest sessions, the newest first, by the titles that the catalogue knows, else by what the
    beginnings and ends of their files tell."""
    found = sorted(scan_sessions(sessions_dir), key=lambda item: (item[0], item[2].name), reverse=True)
    known = {entry.id: entry.title for entry in known_entries(Workspace(sessions_dir.parent, sessions_dir))}
    return tuple(
        Option(path.name, known.get(path.name) or _title(path), f"{duration(now - updated)} ago")
        for updated, _, path in found[:_MOST]
    )


def _title(folder: Path) -> str:
    """The title of a session that the catalogue does not know; its id where nothing tells one."""
    try:
        state = glance(folder)
    except OSError:  # deleted or locked away meanwhile
        return folder.name
    fork = f"(fork of {safe_line(state.parent_session, 60)})" if state.parent_session else ""
    return state.shown_title or fork or folder.name
