"""Finds sessions in a project's folder of sessions, without reading more of them than their beginning; by
title, without parsing more than that needs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mewcode.core.errors import SessionError
from mewcode.infra.terminal_text import safe_line
from mewcode.sessions.append_file import CAREFUL, CONVERSATION
from mewcode.sessions.record import WireMessage, decode_line, from_wire

if TYPE_CHECKING:
    import mmap

_HEAD = 1 << 20
"""Bytes of a file that are searched for the first prompt."""
_TITLE_MARK = b'"title"'
_NAMED = 5
"""Sessions that an error names at most."""


class SessionInfo(msgspec.Struct, frozen=True):
    """``updated``: Unix time of the last write. ``size`` in bytes. ``first_prompt``: one line, safe to show,
    at most 200 characters; empty where none stands in the first megabyte."""

    id: str
    path: Path
    updated: float
    size: int
    first_prompt: str


def newest_session(sessions_dir: Path) -> Path | None:
    """The folder of the session that was written last; None where there is none."""
    return max(scan_sessions(sessions_dir), default=(0.0, 0, None), key=_age)[2]


def list_sessions(sessions_dir: Path, most: int | None = None) -> list[SessionInfo]:
    """All sessions, or the ``most`` newest ones, the newest first. One that cannot be read has no first
    prompt."""
    found = sorted(scan_sessions(sessions_dir), key=_age, reverse=True)[:most]
    return [SessionInfo(path.name, path, updated, size, first_prompt(path)) for updated, size, path in found]


def list_recent(sessions_dir: Path, since: float) -> list[Path]:
    """The folders of the sessions that were written since a moment (Unix time), the newest first."""
    found = sorted(scan_sessions(sessions_dir), key=_age, reverse=True)
    return [path for updated, _, path in found if updated >= since]


def find_session(sessions_dir: Path, wanted: str) -> Path:
    """The session of that id, unique beginning of an id, or title; raises SessionError, naming what there
    is.

    ``wanted`` comes from outside: it is compared with names and never becomes part of a path.
    """
    found = sorted(scan_sessions(sessions_dir), key=_age, reverse=True)
    names = [path.name for _, _, path in found]
    if wanted in names:
        return sessions_dir / names[names.index(wanted)]
    matching = [name for name in names if name.startswith(wanted)] if wanted else []
    if len(matching) == 1:
        return sessions_dir / matching[0]
    shown = safe_line(wanted, 60)
    titled = [] if matching else _titled([path for _, _, path in found], wanted)
    if len(titled) == 1:
        return sessions_dir / titled[0]
    if titled:
        raise SessionError(f"{len(titled)} sessions are named {shown!r}: {_listed(titled)}.", "Give the id.")
    if matching:
        raise SessionError(
            f"{len(matching)} sessions begin with {shown!r}: {_listed(matching)}.",
            "Give more of the id.",
        )
    if not names:
        raise SessionError(f"There is no session {shown!r}: this workspace has none yet.")
    raise SessionError(f"There is no session {shown!r}.", f"The nearest: {_listed(_nearest(wanted, names))}.")


def _age(found: tuple[float, int, Path | None]) -> tuple[float, str]:
    return found[0], found[2].name if found[2] else ""


def scan_sessions(sessions_dir: Path) -> list[tuple[float, int, Path]]:
    """Time of the last write, bytes and folder of each session, in no order. Symbolic links are not followed,
    empty files are none."""
    found = []
    place = str(sessions_dir)
    try:
        with os.scandir(place) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # no folder yet, or none that may be read: no sessions either way
        return []
    for name in names:
        try:
            status = os.stat(f"{place}/{name}/{CONVERSATION}", follow_symlinks=False)
        except OSError:  # no session
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size:
            found.append((status.st_mtime, status.st_size, sessions_dir / name))
    return found


def _titled(folders: list[Path], wanted: str) -> list[str]:
    """The sessions that bear this title, however it is written (case, width, blanks)."""
    name = _same_name(wanted)
    return [folder.name for folder in folders if name and _same_name(_title(folder)) == name]


def _same_name(text: str) -> str:
    import unicodedata  # most starts name no session

    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _title(folder: Path) -> str:
    """The user's title for a session, else a model's; "" without. Looks at all of the file, from its end: a
    title may have been given at any time."""
    import mmap

    flags = os.O_RDONLY | CAREFUL
    try:
        with open(os.open(folder / CONVERSATION, flags), "rb") as stream:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # deleted, locked away or emptied meanwhile
        return ""
    last: dict[bool, str] = {}
    with content:
        for record in _title_records(content):
            is_auto = record.get("auto") is True
            title = record.get("title")
            last.setdefault(is_auto, title if isinstance(title, str) else "")
            if last.get(False) or len(last) == 2:
                break
    return last.get(False) or last.get(True, "")


def _title_records(content: mmap.mmap) -> Iterator[dict[str, Any]]:
    """The records of titles, the last one first."""
    end = len(content)
    while (place := content.rfind(_TITLE_MARK, 0, end)) >= 0:
        start = content.rfind(b"\n", 0, place) + 1
        stop = content.find(b"\n", place)
        record = decode_line(content[start : stop if stop >= 0 else len(content)])
        if isinstance(record, dict) and record.get("type") == "title":
            yield record
        end = start


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(safe_line(name, 60) for name in names[:_NAMED]) + (
        f" and {more} more" if more > 0 else ""
    )


def _nearest(wanted: str, names: list[str]) -> list[str]:
    """The names most like what was asked for, else the newest."""
    import difflib  # only on the way to an error

    return difflib.get_close_matches(wanted[:100], names, 3, 0.5) or names[:3]


def first_prompt(folder: Path, file: str = CONVERSATION) -> str:
    """What the user said first in a session, on one line, safe to show; empty where that is not in the
    first megabyte. ``file``: where it stands in the session's folder."""
    left = _HEAD
    flags = os.O_RDONLY | CAREFUL
    try:
        with open(os.open(folder / file, flags), "rb") as stream:
            while left > 0 and (line := stream.readline(left)):
                left -= len(line)
                record = decode_line(line)
                if isinstance(record, WireMessage) and record.role == "user":
                    message = from_wire(record)
                    if message.origin == "user" and message.text.strip():
                        return safe_line(message.text)
    except OSError:  # deleted or locked away meanwhile: it is listed without its prompt
        return ""
    return ""
