"""Makes what was written durable, in a thread that lives only as long as there is something to sync."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

from mewcode.infra.atomic import sync_dir
from mewcode.sessions.append_file import FileCalls

# A file system that cannot sync (some FUSE and network ones) says so with these; there is nothing to mend.
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class SyncThread:
    """Requests of the same moment are answered by one sync. Used by one thread.

    ``error`` is why the last sync failed, None where it did not. The thread is no daemon, so that a process
    which ends without `wait` still finishes its sync, and it ends by itself, so that it keeps none alive.
    """

    def __init__(self, calls: FileCalls) -> None:
        self.error: OSError | None = None
        self._calls = calls
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._descriptor = -1
        self._folders: tuple[Path, ...] = ()

    def request(self, descriptor: int, folders: tuple[Path, ...] = ()) -> None:
        """Syncs the file, then the ``folders`` in which it is new. Returns at once."""
        try:
            own = os.dup(descriptor)  # the file may be closed and its number given away meanwhile
        except OSError as error:
            self.error = error
            return
        with self._guard:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor, self._folders = own, self._folders + folders
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._work, name="session-sync", daemon=False)
            thread = self._thread
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._work()

    def wait(self) -> None:
        """Returns when all that was requested is done."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._guard:
                descriptor, folders = self._descriptor, self._folders
                self._descriptor, self._folders = -1, ()
                if descriptor < 0:
                    self._thread = None
                    return
            try:
                self._calls.sync(descriptor)
                for folder in folders:
                    sync_dir(folder)
            except FileNotFoundError:
                self.error = None  # the folder was deleted: the writer finds out by itself
            except OSError as error:
                self.error = None if error.errno in _CANNOT else error
            else:
                self.error = None
            finally:
                os.close(descriptor)
