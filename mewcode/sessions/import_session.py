"""Makes a session of this workspace from one of another program."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from mewcode.core.errors import SessionError
from mewcode.infra.atomic import sync_dir, temporary_name
from mewcode.sessions.append_file import CONVERSATION, FileCalls, write_all
from mewcode.sessions.catalog_glance import open_conversation
from mewcode.sessions.find import scan_sessions
from mewcode.sessions.import_lines import RecordLines
from mewcode.sessions.import_source import Original
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.record import decode_line, encode_record, session_record
from mewcode.sessions.session_file import make_session_folder, new_session_name

_PIECE = 1 << 20
"""Bytes that are gathered for one write."""
_HEADER_LIMIT = 65_536
_LATEST = 253_402_214_400.0
"""Unix time of the last day of the year 9999: no clock has shown a later one."""


class Place(msgspec.Struct, frozen=True):
    """Where the session goes. ``cwd``: for one that names no working folder. ``prepare``: called before its
    folder is made, may raise OSError. ``seal``: see `WriterOptions`. ``mode``: for one that names none.
    ``calls``: the system calls."""

    sessions_dir: Path
    cwd: Path
    seal: Callable[[str], str]
    prepare: Callable[[], object] | None = None
    mode: str = "default"
    calls: FileCalls = FileCalls()


class Imported(msgspec.Struct, frozen=True):
    """``messages``: of the whole file; ``skipped``: lines of the original that could not be read."""

    folder: Path
    messages: int
    skipped: int


def import_session(original: Original, place: Place, *, now: float) -> Imported | None:
    """Writes the session, named for the time at which the original began; it is there whole, or not at all.
    None where nothing was said in it.

    The file bears the time of the last record, so that it is not the newest session of the workspace; its
    lock bears ``now``, so that the rule on what is kept counts from the import. Raises SessionError where the
    original cannot be read to its end, and where the disk refuses.
    """
    began = original.began if 0 < original.began < _LATEST else now
    folder: Path | None = None
    try:
        wanted = place.sessions_dir / new_session_name(began)
        folder = make_session_folder(wanted, place.prepare, place.calls, lambda: began)
        lock = SessionLock.take(folder, since=now)
        try:
            records = RecordLines(original, now=max(now, began))
            _write(folder, _lines(folder.name, original, records, place, began, now), place.calls)
            if not records.messages:
                shutil.rmtree(folder)
                return None
            _settle(folder, records.last_ts or began, place.calls)
        finally:
            lock.release()
        sync_dir(place.sessions_dir)
    except BaseException as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise SessionError(f"It cannot be written: {error.strerror or error}") from error
        raise
    return Imported(folder, records.messages, original.skipped)


def imported_before(sessions_dir: Path) -> dict[tuple[str, str], str]:
    """The sessions here that came from elsewhere: by kind and id of the original, the newest id of ours."""
    known: dict[tuple[str, str], str] = {}
    for _, _, folder in sorted(scan_sessions(sessions_dir), key=lambda found: found[2].name):
        try:
            with open_conversation(folder) as stream:
                line = stream.readline(_HEADER_LIMIT)
        except OSError:  # gone meanwhile, or locked away
            continue
        known["mewcode", folder.name] = folder.name
        record = decode_line(line) if b'"imported"' in line else None
        origin = record.get("imported") if isinstance(record, dict) else None
        if isinstance(origin, dict):
            known[str(origin.get("from")), str(origin.get("id"))] = folder.name
    return known


def _lines(
    name: str, original: Original, records: RecordLines, place: Place, began: float, now: float
) -> Iterator[bytes]:
    record = session_record(
        name,
        ts=began,
        cwd=original.cwd or str(place.cwd),
        mode=original.mode or place.mode,
        provider=original.provider,
        model=original.model,
        seal=place.seal(name),
        branch=original.branch,
        imported={"from": original.kind, "id": original.id, "ts": now},
    )
    yield encode_record(record)
    yield from records.lines()


def _write(folder: Path, lines: Iterator[bytes], calls: FileCalls) -> None:
    """The whole file under another name first. Raises OSError, and what the lines raise."""
    temporary = folder / temporary_name(CONVERSATION)
    descriptor = calls.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        piece: list[bytes] = []
        size = 0
        for line in lines:
            piece.append(line)
            size += len(line)
            if size >= _PIECE:
                write_all(calls, descriptor, b"".join(piece))
                piece, size = [], 0
        write_all(calls, descriptor, b"".join(piece))
        calls.sync(descriptor)
    finally:
        os.close(descriptor)
    calls.rename(temporary, folder / CONVERSATION)


def _settle(folder: Path, last_ts: float, calls: FileCalls) -> None:
    moment = min(last_ts, time.time())
    os.utime(folder / CONVERSATION, (moment, moment))
    sync_dir(folder)
