"""Finds the briefs of a workspace's sessions, without reading more of them than their ends.

A start reads them. Where to look is said by an index (see `brief_index`), else by the names of all sessions,
which begin with the time at which each was begun.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from mewcode.infra.terminal_text import safe_line
from mewcode.sessions.append_file import CAREFUL, CONVERSATION
from mewcode.sessions.brief_index import NAME, STAMP, indexed_names, note_names
from mewcode.sessions.labels import add_label
from mewcode.sessions.plain import number
from mewcode.sessions.record import WireMessage, brief_record, decode_line, from_wire

MOST_LOOKED_AT = 50
"""Sessions of a workspace whose briefs are looked for, the newest first."""
_HEAD = 16_384
_TAIL = 65_536
_TEXT_LIMIT = 4_000
"""Characters of a brief's record that count: ours are far shorter."""
_TITLE_LIMIT = 100
_FORKS = 10
"""Forks of forks that are followed back."""
_LABELS = (b'"brief"', b'"title"')
_RECENT_DAYS = (2.0, 30.0)

IsOurs = Callable[[str, str], bool]
"""Whether the user's own MewCode made the session of this id here, by its seal."""


class SessionBrief(msgspec.Struct, frozen=True):
    """``day``: ISO date on which the session was begun. ``title`` and ``text``: one line each, safe to show,
    the title may be empty. ``by``: the model that wrote the text, empty for none."""

    session: str
    day: str
    title: str
    text: str
    by: str


def recent_briefs(
    sessions_dir: Path, session_id: str, is_ours: IsOurs, count: int = 3
) -> tuple[SessionBrief, ...]:
    """The newest briefs that there were when the session ``session_id`` was begun (it need not be on disk
    yet), the newest session first. The same again when it is resumed; a fork has those of the session it
    comes from. Never raises; takes a millisecond.
    """
    line = _line(sessions_dir, session_id)
    origin = line[-1]
    begun = _begun(origin)
    if begun is None:
        return ()
    indexed, is_whole = indexed_names(sessions_dir)
    # Names count whole seconds: a session that ended in the one in which this began came before it.
    before = begun + 1

    def among(names: Sequence[str]) -> tuple[SessionBrief, ...]:
        others = (name for name in names if name[:STAMP] <= origin[:STAMP] and name not in line)
        looked_at = islice(others, MOST_LOOKED_AT)
        briefs = (_brief_of(sessions_dir / name, before, is_ours) for name in looked_at)
        return tuple(islice(filter(None, briefs), count))

    found = among(indexed)
    if len(found) == count or is_whole:
        return found
    names = newest_names(sessions_dir, origin[:STAMP])
    if not indexed and len(names) > MOST_LOOKED_AT:
        index_briefs(sessions_dir)  # so that no other start has to list them
    return among(names)


def newest_names(sessions_dir: Path, until: str = "9") -> list[str]:
    """Names of at least `MOST_LOOKED_AT` sessions, where there are so many, the newest first; none that was
    begun after ``until`` (the beginning of a name). Folders that are named otherwise are left out."""
    try:
        names = os.listdir(sessions_dir)
    except OSError:  # no folder yet, or none that may be read: no sessions either way
        return []
    last = until + "~"
    names = [name for name in names if name <= last and len(name) == STAMP + 5]
    # Sorting ten thousand takes longer than all else here.
    newest = _begun(max(names, default="")) or 0.0
    for days in _RECENT_DAYS:
        since = time.strftime("%Y%m%d", time.localtime(newest - days * 86_400))
        few = [name for name in names if name >= since] if newest else names
        if len(few) > MOST_LOOKED_AT:
            names = few
            break
    return sorted((name for name in names if re.fullmatch(NAME, name)), reverse=True)


def _begun(name: str) -> float | None:
    """Unix time of the beginning that a session's name states; None where it states none."""
    parts = re.match(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-", name, re.ASCII)
    if parts is None:
        return None
    year, month, day, hour, minute, second = map(int, parts.groups())
    try:  # `time.strptime` takes milliseconds to import
        return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
    except (ValueError, OverflowError):
        return None


def _line(sessions_dir: Path, session_id: str) -> list[str]:
    """The session, the one that it is a fork of, and so on to the one that is none."""
    line = [session_id]
    for _ in range(_FORKS):
        parent = _first_record(sessions_dir / line[-1]).get("parent_session")
        if not isinstance(parent, str) or not re.fullmatch(NAME, parent):
            break
        if parent[:STAMP] > line[-1][:STAMP]:
            break
        line.append(parent)
    return line


def _first_record(folder: Path) -> dict[str, Any]:
    """The session's own record, empty where its file begins with none."""
    head = read_ends(folder, _HEAD, 0)[0]
    return _session_record(head)


def _session_record(head: bytes) -> dict[str, Any]:
    record = decode_line(head.partition(b"\n")[0])
    return record if isinstance(record, dict) and record.get("type") == "session" else {}


def read_ends(folder: Path, head: int = _HEAD, tail: int = _TAIL) -> tuple[bytes, bytes]:
    """The first and the last bytes of a session's file; a small file is all in both. Empty where it cannot be
    read. A link is not followed, and what is no file not waited for."""
    flags = os.O_RDONLY | CAREFUL
    try:
        descriptor = os.open(folder / CONVERSATION, flags)
    except OSError:
        return b"", b""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return b"", b""
        start = max(0, status.st_size - tail)
        ending = os.pread(descriptor, tail, start) if tail else b""
        beginning = ending[:head] if tail and not start else os.pread(descriptor, head, 0)
        return beginning, ending
    except OSError:
        return b"", b""
    finally:
        os.close(descriptor)


def labels_in(piece: bytes, before: float = float("inf")) -> Iterator[dict[str, Any]]:
    """The titles and briefs in a piece of a file, the last first, of those written before a moment."""
    places = {mark: piece.rfind(mark) for mark in _LABELS}
    while (place := max(places.values())) >= 0:
        start = piece.rfind(b"\n", 0, place) + 1
        stop = piece.find(b"\n", place)
        record = decode_line(piece[start : stop if stop >= 0 else len(piece)])
        is_label = isinstance(record, dict) and record.get("type") in ("brief", "title")
        if isinstance(record, dict) and is_label and number(record.get("ts")) < before:
            yield record
        # Each is looked for only behind where it was found: a piece made of one of them stays cheap.
        places = {mark: piece.rfind(mark, 0, start) if at >= start else at for mark, at in places.items()}


def _brief_of(folder: Path, before: float, is_ours: IsOurs) -> SessionBrief | None:
    head, tail = read_ends(folder)
    if _LABELS[0] not in tail or not is_ours(folder.name, str(_session_record(head).get("seal") or "")):
        return None
    labels = list(labels_in(tail, before))
    record = next((label for label in labels if label["type"] == "brief"), None)
    if record is None:
        return None
    words, by = record.get("text"), record.get("by")
    text = safe_line(words[:_TEXT_LIMIT], _TEXT_LIMIT) if isinstance(words, str) else ""
    if not text:
        return None
    title = title_among([*labels, *labels_in(head, before)]) or first_prompt_in(head)
    name = folder.name
    day = f"{name[:4]}-{name[4:6]}-{name[6:8]}"
    return SessionBrief(name, day, title, text, by if isinstance(by, str) else "")


def title_among(labels: Sequence[dict[str, Any]]) -> str:
    """The title that labels give, the newest first: the user's, else a model's, else none. Safe to show."""
    made = ""
    for label in labels:
        title = label.get("title") if label["type"] == "title" else None
        if not isinstance(title, str):
            continue
        shown = safe_line(title, _TITLE_LIMIT)
        if label.get("auto") is not True:
            return shown or made or _made_among(labels)
        made = made or shown
    return made


def _made_among(labels: Sequence[dict[str, Any]]) -> str:
    """The newest title of a model: what counts where the user took back their own."""
    titles = (
        label.get("title") for label in labels if label["type"] == "title" and label.get("auto") is True
    )
    return next((safe_line(title, _TITLE_LIMIT) for title in titles if isinstance(title, str)), "")


def known_title(folder: Path) -> str:
    """What a session is called, as far as the two ends of its file say; else what was said first. "" for
    neither. Safe to show."""
    head, tail = read_ends(folder)
    return title_among([*labels_in(tail), *labels_in(head)]) or first_prompt_in(head)


def first_prompt_in(head: bytes) -> str:
    """What the user said first, where it stands in the beginning of a file; on one line, safe to show."""
    for line in head.split(b"\n")[:-1]:
        record = decode_line(line)
        if isinstance(record, WireMessage) and record.role == "user":
            message = from_wire(record)
            if message.origin == "user" and message.text.strip():
                return safe_line(message.text, _TITLE_LIMIT)
    return ""


def is_named(folder: Path) -> bool:
    """Whether the user gave the session a title lately: it stands in the last part of its file."""
    for label in labels_in(read_ends(folder, 0)[1]):
        if label["type"] == "title" and label.get("auto") is not True:
            return bool(label.get("title"))
    return False


def brief_state(folder: Path) -> str | None:
    """Who wrote the brief of all that the session holds (see `SessionBrief.by`); None where there is none, or
    the user has said more since."""
    for line in reversed(read_ends(folder, 0)[1].split(b"\n")):
        if not line.startswith(b"{"):
            continue
        record = decode_line(line)
        if isinstance(record, WireMessage):
            return None
        if isinstance(record, dict) and record.get("type") == "brief":
            by = record.get("by")
            return by if isinstance(by, str) else ""
    return None


def keep_brief(folder: Path, text: str, *, ts: float, by: str) -> None:
    """Adds the brief to the session's file. Raises SessionError."""
    add_label(folder, brief_record(text, ts=ts, by=by))
    note_names(folder.parent, [folder.name])


def index_briefs(sessions_dir: Path) -> None:
    """Brings the index up to date with the newest sessions: one that came from elsewhere is in none."""
    known = set(indexed_names(sessions_dir)[0])
    newest = newest_names(sessions_dir)[:MOST_LOOKED_AT]
    briefed = [
        name
        for name in reversed(newest)
        if name not in known
        and any(label["type"] == "brief" for label in labels_in(read_ends(sessions_dir / name, 0)[1]))
    ]
    note_names(sessions_dir, briefed)


def without_brief(
    sessions_dir: Path,
    session_id: str,
    is_ours: IsOurs,
    *,
    since: float,
    improves: bool,
    stop: Callable[[], bool],
) -> Iterator[Path]:
    """The folders of sessions that may want a brief, the newest first: of the newest 50 those that the user
    made, that were written since a moment (Unix time), and whose last words no brief follows. With
    ``improves`` also those whose brief no model wrote. ``session_id`` is left out."""
    for name in newest_names(sessions_dir)[:MOST_LOOKED_AT]:
        if stop():
            return
        folder = sessions_dir / name
        if name == session_id or _written(folder) < since:
            continue
        state = brief_state(folder)
        if state or (state == "" and not improves):
            continue
        if is_ours(name, str(_first_record(folder).get("seal") or "")):
            yield folder


def _written(folder: Path) -> float:
    try:
        status = os.stat(folder / CONVERSATION, follow_symlinks=False)
    except OSError:
        return 0.0
    return status.st_mtime if status.st_size else 0.0
