"""One writer for each session: a lock on ``conversation.lock`` that ends with the process that holds it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.errors import SessionBusy
from mewcode.infra.locks import try_lock
from mewcode.sessions.append_file import CAREFUL

LOCK_FILE = "conversation.lock"
_INFO_LIMIT = 4096
_BEGINNING = b'{"pid":'
"""Of what such a file says."""
_TRIES = 10


class SessionLock:
    """Held from `take` until `release` or the end of the process, however it ends.

    The file says who holds it: ``{"pid", "since", "host"}``. It stays when the lock is released: to remove
    it would let two processes hold a lock on two files of one name.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path

    @classmethod
    def take(cls, folder: Path, *, since: float) -> SessionLock:
        """Raises SessionBusy where another process (or another writer of this one) holds it, and OSError
        where the lock file cannot be made. ``since`` is the Unix time that others are told. Where the file
        system has no locks, the conversation is saved without one."""
        path = folder / LOCK_FILE
        for _ in range(_TRIES):
            flags = os.O_RDWR | os.O_CREAT | CAREFUL
            lock = cls(os.open(path, flags, 0o600), path)
            try:
                if not try_lock(lock._descriptor):
                    raise _busy(folder, lock._descriptor)
                if lock.in_place():
                    lock._write_owner(since)
                    return lock
            except BaseException:
                lock.release()
                raise
            lock.release()  # the file was replaced between open and lock: that one is worth nothing
        raise OSError(f"{path} is replaced all the time")

    def _write_owner(self, since: float) -> None:
        # platform and socket take milliseconds to import
        owner = {"pid": os.getpid(), "since": since, "host": os.uname().nodename}
        if not _is_ours(self._descriptor):
            return
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, encode_json(owner), 0)
        except OSError as error:  # a full disk: the lock holds all the same, others learn no name
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise

    def in_place(self) -> bool:
        """Whether the lock file is still the one that is locked: not deleted, not replaced."""
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def release(self) -> None:
        os.close(self._descriptor)


def _is_ours(descriptor: int) -> bool:
    """Whether the file is empty or was written here: by another name it may be a file of the project."""
    if os.fstat(descriptor).st_size > _INFO_LIMIT:
        return False
    begins = os.pread(descriptor, len(_BEGINNING), 0)
    return begins == _BEGINNING[: len(begins)]  # a full disk may have taken less


def _busy(folder: Path, descriptor: int) -> SessionBusy:
    pid, since, host = _owner(descriptor)
    holder = f"process {pid}" if pid else "another process"
    if host and host != os.uname().nodename:
        holder += f" on {host}"
    return SessionBusy(
        f"Session {folder.name} is in use by {holder}.",
        "Wait until it ends, or continue in a copy with --fork-session.",
        pid,
        since,
        folder,
    )


def _owner(descriptor: int) -> tuple[int, float, str]:
    """Pid, time and host of who holds the lock; 0 and empty where the file does not say (yet)."""
    try:
        owner = decode_json(os.pread(descriptor, _INFO_LIMIT, 0))
    except (OSError, ValueError, RecursionError):
        return 0, 0.0, ""
    if not isinstance(owner, dict):
        return 0, 0.0, ""
    pid, since, host = owner.get("pid"), owner.get("since"), owner.get("host")
    return (
        pid if isinstance(pid, int) and 0 < pid < 2**31 else 0,
        float(since) if isinstance(since, int | float) and 0 < since < 2**53 else 0.0,
        host[:255] if isinstance(host, str) and host.isprintable() else "",
    )


def held_by(folder: Path) -> tuple[int, float] | None:
    """Process and since when (see `SessionBusy`) of who has a session open; None where nobody has.

    Takes the lock for a moment where its last owner still lives, and only then: a writer that comes in that
    moment would take it for busy.
    """
    try:
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | CAREFUL)
    except OSError:  # never opened by us, or not ours to look at
        return None
    try:
        pid, since, host = _owner(descriptor)
        if pid and host == os.uname().nodename and not _is_alive(pid):
            return None
        return None if try_lock(descriptor) else (pid, since)
    except OSError:  # this file system cannot say
        return None
    finally:
        os.close(descriptor)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
