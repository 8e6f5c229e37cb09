"""Looks whether a session's file is sound, and on request makes it so, keeping the damaged one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import BinaryIO

import msgspec

from mewcode.core.errors import SessionBusy, SessionError
from mewcode.infra.atomic import sync_dir, temporary_name
from mewcode.sessions.append_file import CAREFUL, CONVERSATION, AppendFile, FileCalls
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.record import UNKNOWN_TYPE, decode_line
from mewcode.sessions.repair import repair_messages
from mewcode.sessions.salvage import UNPARSABLE, salvage_pieces

_BOM = b"\xef\xbb\xbf"


class Health(msgspec.Struct, frozen=True):
    """``skipped``, ``salvaged``, ``damage``: as in `LoadedSession`. ``repairs``: what each resume mends in
    memory. ``error``: why the session cannot be read at all. ``backup``: where the damaged file was kept, if
    it was repaired."""

    id: str
    messages: int = 0
    skipped: int = 0
    salvaged: int = 0
    damage: list[str] = []
    repairs: list[str] = []
    error: str = ""
    backup: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether each line of the file is a record. What is mended in memory leaves a file as it is."""
        return not self.damage and not self.error


def examine(folder: Path) -> Health:
    """Reads all of a session, and what a resume takes of it. Writes nothing, raises nothing because of the
    file."""
    try:
        loaded = load_history(folder)
        resumed = load_session(folder) if loaded.start else loaded
    except SessionError as error:
        return Health(folder.name, error=error.message)
    repairs = repair_messages(resumed.messages)[1]
    return Health(folder.name, len(loaded.messages), loaded.skipped, loaded.salvaged, loaded.damage, repairs)


def repair_file(folder: Path, *, now: float) -> Path | None:
    """Replaces the conversation by one without the lines that are no records; what is whole within a broken
    line becomes a line of its own. All else stays byte for byte, records of unknown types too.

    The damaged file stays beside it under the name that is returned; None where nothing was to be done.
    Raises SessionBusy where a process has the session open, SessionError where the disk refuses.
    """
    path = folder / CONVERSATION
    temporary = folder / temporary_name(CONVERSATION)
    backup = folder / f"{CONVERSATION}.damaged-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    try:
        lock = SessionLock.take(folder, since=now)
    except SessionBusy as error:
        raise SessionBusy(error.message, "Close it there first.", error.pid, error.since) from None
    except OSError as error:
        raise _failed(folder, error) from error
    try:
        with open(os.open(path, os.O_RDONLY | CAREFUL), "rb") as old:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
                is_changed = _copy_sound(old, new)
                new.flush()
                os.fsync(new.fileno())
            if not is_changed:
                return None
            os.link(path, backup)
            os.replace(temporary, path)
            _follow(old, path)
        sync_dir(folder)
    except OSError as error:
        raise _failed(folder, error) from error
    finally:
        temporary.unlink(missing_ok=True)
        lock.release()
    return backup


def _copy_sound(old: BinaryIO, new: BinaryIO) -> bool:
    """Copies what is sound; whether anything was not."""
    is_changed = False
    for number, line in enumerate(iter(old.readline, b"")):
        if number == 0 and line.startswith(_BOM):
            line, is_changed = line[len(_BOM) :], True
        record = decode_line(line)
        if not isinstance(record, str) or record == UNKNOWN_TYPE or not line.strip():
            new.write(line if line.endswith(b"\n") else line + b"\n")
            continue
        is_changed = True
        if record in UNPARSABLE:
            for piece, _ in salvage_pieces(line)[0]:
                new.write(piece + b"\n")
    return is_changed


def _follow(old: BinaryIO, path: Path) -> None:
    """Labels are added in spite of the lock: those that came to the old file meanwhile come to the new."""
    rest = old.read()
    if rest:
        file = AppendFile(path, FileCalls())
        try:
            file.append(rest if rest.endswith(b"\n") else rest + b"\n")
        finally:
            file.close()


def _failed(folder: Path, error: OSError) -> SessionError:
    return SessionError(f"Session {folder.name} cannot be repaired: {error.strerror or error}")
