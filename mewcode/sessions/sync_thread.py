"""Makes what was written durable, in a thread that lives only as long as there is something to sync."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path

from mewcode.infra.atomic import sync_dir
from mewcode.sessions.append_file import FileCalls

DELAY = 0.2
"""Seconds that a record may wait for the sync it shares with those behind it."""
GROUP = 64
"""Records that wait for one sync at most."""

# A file system that cannot sync (some FUSE and network ones) says so with these; there is nothing to mend.
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class SyncThread:
    """Records of the same moment share one sync. May be called from any thread.

    ``error`` is why the last sync failed, None where it did not. The thread is no daemon, so that a process
    which ends without `wait` still finishes its sync, and it ends by itself, so that it keeps none alive for
    longer than the delay.
    """

    def __init__(self, calls: FileCalls, delay: float = DELAY) -> None:
        self.error: OSError | None = None
        self._calls = calls
        self._delay = delay
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._files: dict[tuple[int, int], int] = {}  # a descriptor of our own for each file, by its identity
        self._folders: tuple[Path, ...] = ()
        self._records = 0
        self._since = 0.0  # when the first of them was written
        self._is_urgent = False

    def written(
        self, descriptor: int, records: int = 1, folders: tuple[Path, ...] = (), *, now: bool = False
    ) -> None:
        """Tells of ``records`` just written to a file, and of ``folders`` in which it is new: synced after
        `DELAY`, with `GROUP` records or where ``now`` asks for it, the file first. Returns at once."""
        with self._news:
            try:
                self._keep_open(descriptor)
            except OSError as error:
                self.error = error
                return
            self._folders += folders
            self._records += records
            if now or self._records >= GROUP:
                self._hurry()
            if self._thread is None:
                self._start()

    def wait(self) -> None:
        """Has all that was written synced now, and returns when it is."""
        with self._news:
            thread = self._thread
            if thread is None:
                return
            self._hurry()
        thread.join()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="session-sync", daemon=False)
        try:
            self._thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._hurry()
            self._work()

    def _hurry(self) -> None:
        self._is_urgent = True
        self._news.notify()

    def _keep_open(self, descriptor: int) -> None:
        """The file may be closed, and its number given away, before it is synced."""
        status = os.fstat(descriptor)
        identity = (status.st_dev, status.st_ino)
        if identity not in self._files:
            own = os.dup(descriptor)
            self._since = self._since if self._files else time.monotonic()
            self._files[identity] = own

    def _work(self) -> None:
        while True:
            with self._news:
                if not self._files:
                    self._thread = None
                    self._is_urgent = False
                    return
                while not self._is_urgent and (left := self._since + self._delay - time.monotonic()) > 0:
                    self._news.wait(left)
                files, folders = list(self._files.values()), self._folders
                self._files, self._folders, self._records, self._is_urgent = {}, (), 0, False
            self._sync(files, folders)

    def _sync(self, files: list[int], folders: tuple[Path, ...]) -> None:
        failure: OSError | None = None
        for descriptor in files:
            try:
                self._calls.sync(descriptor)
            except OSError as error:
                failure = error
            finally:
                os.close(descriptor)
        try:
            for folder in folders:
                sync_dir(folder)
        except FileNotFoundError:
            pass  # the folder was deleted: the writer finds out by itself
        except OSError as error:
            failure = failure or error
        self.error = None if failure is not None and failure.errno in _CANNOT else failure
