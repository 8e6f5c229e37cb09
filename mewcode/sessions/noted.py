"""Finds what of a workspace's sessions was not looked through for notes when they were left."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from mewcode.core.errors import SessionError
from mewcode.core.message import Message
from mewcode.infra.locks import try_lock
from mewcode.sessions.append_file import CAREFUL, CONVERSATION
from mewcode.sessions.briefs import MOST_LOOKED_AT, IsOurs, newest_names, read_ends
from mewcode.sessions.labels import add_label
from mewcode.sessions.lock import held_by
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.record import WireMessage, decode_line, noted_record

_LOG = logging.getLogger("mewcode.session")
_LOCK_FILE = "noting.lock"
_MOST_READ = 64 << 20
"""Bytes of a session that is read whole; of a longer one only the newest part: 64 MB take half a second."""
_NEWEST = 30_000
"""Tokens of that part: more than is shown to a model."""


class RecordArchive(Protocol):
    """Where a session's records go that is open here."""

    def append_record(self, record: dict[str, Any]) -> None: ...


class Unlooked(msgspec.Struct, frozen=True):
    """``messages``: of the branch that leads to the head, as they were first written. ``left``: so many turns
    were known to be left over when the user left the session, 0 where nobody counted them, as in a run
    without a terminal or one that was killed."""

    session_id: str
    messages: tuple[Message, ...]
    left: int = 0


def read_unlooked(folder: Path) -> Unlooked:
    """What of a session was not looked through. Raises SessionError."""
    try:
        is_short = (folder / CONVERSATION).stat().st_size <= _MOST_READ
    except OSError as error:
        raise SessionError(f"Session {folder.name} cannot be read: {error.strerror}") from error
    loaded = load_history(folder) if is_short else load_session(folder, tokens=_NEWEST)
    ids = [message.id for message in loaded.messages]
    begin = ids.index(loaded.noted) + 1 if loaded.noted in ids else 0
    return Unlooked(folder.name, loaded.messages[begin:], _left(read_ends(folder, 0)[1]))


def left_over(
    sessions_dir: Path,
    is_ours: IsOurs,
    counts: Callable[[Unlooked], bool],
    *,
    tried: Collection[str],
    since: float,
    stop: Callable[[], bool],
) -> Iterator[Unlooked]:
    """Of the newest 50 sessions those with something that ``counts``, the newest first: that the user made
    here, that were written since a moment (Unix time), that no process has open. ``tried``: names that are
    left out. Never raises; reads no more than the end of most of them."""
    for name in newest_names(sessions_dir)[:MOST_LOOKED_AT]:
        folder = sessions_dir / name
        if stop():
            return
        if name in tried or _written(folder) < since:
            continue
        head, tail = read_ends(folder)
        if not _may_have_new(tail):
            continue
        first = _records(head)[:1]
        about = first[0] if first and isinstance(first[0], dict) else {}
        # What was imported was said to another program, perhaps by somebody else.
        if "imported" in about or not is_ours(name, str(about.get("seal") or "")) or held_by(folder):
            continue
        try:
            unlooked = read_unlooked(folder)
        except SessionError as error:
            _LOG.info("not looked through for notes: %s", error.message)
            continue
        if counts(unlooked):
            yield unlooked


def record_noted(
    folder: Path, upto: str, *, left: int, ts: float, archive: RecordArchive | None = None
) -> None:
    """Records how far a session was looked through (see `noted_record`; "" for not at all): in its
    ``archive`` where that is open here. Raises SessionError."""
    record = noted_record(upto or None, ts=ts, left=left)
    if archive is not None:
        archive.append_record(record)
    elif folder.is_dir():
        add_label(folder, record)


@contextmanager
def only_one(sessions_dir: Path) -> Iterator[bool]:
    """Whether no other process looks through what was left here; none will until the end of the context."""
    try:
        flags = os.O_RDWR | os.O_CREAT | CAREFUL
        descriptor = os.open(sessions_dir.parent / _LOCK_FILE, flags, 0o600)
    except OSError as error:  # where nothing can be written nothing can be noted to be done either
        _LOG.info("what was left over is not looked through: %s", error.strerror)
        yield False
        return
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


def _records(piece: bytes) -> list[WireMessage | dict[str, Any]]:
    lines = (decode_line(line) for line in piece.split(b"\n") if line.startswith(b"{"))
    return [record for record in lines if not isinstance(record, str)]


def _may_have_new(tail: bytes) -> bool:
    """Whether a message may stand behind the last one that was looked through."""
    upto: object = None
    for line in reversed(tail.split(b"\n")):
        record = decode_line(line) if line.startswith(b"{") else ""
        if isinstance(record, WireMessage):
            return record.id != upto
        if upto is None and isinstance(record, dict) and record.get("type") == "noted":
            upto = record.get("upto")
    return bool(tail)


def _left(tail: bytes) -> int:
    noted: Sequence[dict[str, Any]] = [
        record for record in _records(tail) if isinstance(record, dict) and record.get("type") == "noted"
    ]
    left = noted[-1].get("left") if noted else 0
    return left if isinstance(left, int) and left > 0 else 0


def _written(folder: Path) -> float:
    try:
        return os.stat(folder / CONVERSATION, follow_symlinks=False).st_mtime
    except OSError:  # no session, or none to be read
        return 0.0
