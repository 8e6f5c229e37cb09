"""The trash of a project's sessions: ``trash/`` beside them. A session there is whole and can come back."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.errors import SessionBusy, SessionError
from mewcode.infra.atomic import sync_dir, write_atomic
from mewcode.infra.paths import private_dir
from mewcode.sessions.append_file import CAREFUL
from mewcode.sessions.find import find_session, scan_sessions
from mewcode.sessions.lock import LOCK_FILE, SessionLock
from mewcode.sessions.plain import number

TRASH = "trash"
_MARK = "trashed.json"
"""Says since when a session lies in the trash: ``{"ts"}``."""
_MARK_LIMIT = 4096


class Trashed(msgspec.Struct, frozen=True):
    """A session in the trash. ``since``: Unix time."""

    id: str
    path: Path
    since: float


def move_to_trash(sessions_dir: Path, folder: Path, *, now: float) -> Path:
    """Moves a session there; its new folder. Raises SessionBusy where a process has it open, SessionError
    where it cannot be moved."""
    try:
        lock = SessionLock.take(folder, since=now)
    except SessionBusy as error:
        raise SessionBusy(error.message, "Close it there first.", error.pid, error.since) from None
    except OSError as error:
        raise _failed(folder.name, error) from error
    try:
        trash = _trash(sessions_dir)
        target = trash / folder.name
        count = 1
        while os.path.lexists(target):
            count += 1
            target = trash / f"{folder.name}.{count}"
        write_atomic(folder / _MARK, encode_json({"ts": now}), durable=False)
        try:
            folder.rename(target)
        except OSError:
            (folder / _MARK).unlink(missing_ok=True)
            raise
        sync_dir(trash)
        sync_dir(sessions_dir)
    except OSError as error:
        raise _failed(folder.name, error) from error
    finally:
        lock.release()
    return target


def list_trash(sessions_dir: Path) -> list[Trashed]:
    """What lies there, the last to come first."""
    if (sessions_dir / TRASH).is_symlink():
        return []
    found = [Trashed(path.name, path, _since(path)) for _, _, path in scan_sessions(sessions_dir / TRASH)]
    return sorted(found, key=lambda item: (item.since, item.id), reverse=True)


def restore_session(sessions_dir: Path, wanted: str) -> Path:
    """Brings back the session of that id, unique beginning or name; its folder. Raises SessionError."""
    try:
        folder = find_session(_trash(sessions_dir), wanted)
    except OSError as error:
        raise _failed(wanted, error) from error
    except SessionError as error:
        if not list_trash(sessions_dir):
            raise SessionError("There is no session in the trash.") from None
        raise SessionError(f"In the trash: {error.message}", error.hint) from None
    target = sessions_dir / folder.name
    if os.path.lexists(target):
        raise SessionError(f"There is a session {folder.name} already.", "Delete that one first.")
    try:
        folder.rename(target)
        (target / _MARK).unlink(missing_ok=True)
        with suppress(OSError):  # it is back all the same
            os.utime(target / LOCK_FILE)
        sync_dir(sessions_dir)
    except OSError as error:
        raise _failed(folder.name, error) from error
    return target


def taken_at(folder: Path) -> float:
    """When a session was last opened, or came back from the trash, as Unix time; 0 where neither is known."""
    try:
        return os.stat(folder / LOCK_FILE, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def empty_trash(sessions_dir: Path, *, before: float) -> list[str]:
    """Removes for good what came there before a moment (Unix time); the ids. What cannot be removed stays."""
    removed = []
    for item in list_trash(sessions_dir):
        if item.since < before:
            with suppress(OSError):
                shutil.rmtree(item.path)
                removed.append(item.id)
    return removed


def _trash(sessions_dir: Path) -> Path:
    trash = sessions_dir / TRASH
    if trash.is_symlink():
        raise SessionError(f"{trash} leads elsewhere.", "Remove that link.")
    return private_dir(trash)


def _since(folder: Path) -> float:
    """When it came; where the mark is gone, when the folder last changed in any way."""
    flags = os.O_RDONLY | CAREFUL
    try:
        with open(os.open(folder / _MARK, flags), "rb") as stream:
            mark = decode_json(stream.read(_MARK_LIMIT))
    except (OSError, ValueError, RecursionError):
        mark = None
    since = number(mark.get("ts")) if isinstance(mark, dict) else 0.0
    return since or folder.stat(follow_symlinks=False).st_ctime


def _failed(name: str, error: OSError) -> SessionError:
    return SessionError(f"Session {name} cannot be moved: {error.strerror or error}")
