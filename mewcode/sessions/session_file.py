"""A session's file as its writer holds it: locked, made again where it vanished, fed from a queue that waits
while the disk refuses."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from mewcode.core.errors import SessionBusy
from mewcode.infra.atomic import sweep_temporaries
from mewcode.infra.paths import private_dir
from mewcode.sessions.append_file import CONVERSATION, AppendFile, FileCalls
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.sync_thread import SyncThread
from mewcode.sessions.tool_results import TOOL_RESULTS, write_result

_LEFT_BEHIND = 3_600.0
"""Seconds after which nobody is still writing a file."""

StateCallback = Callable[[str | None], None]


class WriterOptions(TypedDict, total=False):
    """``now``: the clock. ``on_state``: called with `SessionWriter.failing` when that changes. ``prepare``:
    called each time before the session's folder is made, to make the project folder as it should be; may
    raise OSError. ``seal``: the mark for a session's id by which its maker is known again (see
    `LoadedSession.seal`). ``branch``: of git, for the session record. ``calls``: the system calls."""

    now: Callable[[], float]
    on_state: StateCallback | None
    prepare: Callable[[], object] | None
    seal: Callable[[str], str] | None
    branch: str
    calls: FileCalls


class SessionFile:
    """Takes lines and never raises because of the disk: what cannot be written waits in memory, in order and
    without limit, and is tried again with each line and at `flush`. Meanwhile ``failing`` says why.

    ``begin`` gives the first line of each file that is made: the session's, or the one that takes the place
    of a deleted one. Used by one thread, but for `keep_result`.
    """

    def __init__(
        self, folder: Path, begin: Callable[[], bytes], *, is_there: bool, **options: Unpack[WriterOptions]
    ) -> None:
        """``is_there``: the folder is a session's that is continued; else a name that may still change."""
        self.failing: str | None = None
        self.on_state = options.get("on_state")
        self.folder = folder
        self._begin = begin
        self._now = options.get("now", time.time)
        self._prepare = options.get("prepare")
        self._calls = options.get("calls", FileCalls())
        self._sync = SyncThread(self._calls)
        self._file: AppendFile | None = None
        self._lock: SessionLock | None = None
        self._backlog: deque[bytes] = deque()
        self._write_error: str | None = None
        self._is_claimed = is_there
        self._making = threading.Lock()
        self._is_header_due = False
        self._unsynced_folders: tuple[Path, ...] = ()
        self._is_sync_wanted = False
        self._is_swept = False

    def hold_back(self, line: bytes) -> None:
        """Queues a line that is not worth a file: it is written with the first one that is."""
        self._backlog.append(line)

    def add(self, lines: Sequence[bytes], *, sync: bool = False) -> None:
        """Writes lines, one call for each. With ``sync`` they are made durable at once, in another thread;
        else with others, soon (see `SyncThread`)."""
        self._backlog.extend(lines)
        self._is_sync_wanted |= sync
        self._drain()

    def sync(self) -> None:
        """Asks that all lines so far be made durable, and returns at once."""
        if self._backlog or self._file is None:
            self._is_sync_wanted = bool(self._backlog)
        else:
            self._written(0, now=True)

    def flush(self, *, retry: bool) -> bool:
        """Waits for the syncs under way, with ``retry`` after a try to write what waits; whether nothing
        failed."""
        if retry and self._backlog:
            self._drain()
        self._sync.wait()
        self._report()
        return self.failing is None

    def close(self) -> None:
        """Lets go of the file and the lock. A further line opens them again."""
        self._close_file()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def try_open(self) -> None:
        """Takes the lock and opens the file, or says why not with ``failing``. Raises SessionBusy."""
        try:
            self._open_file()
        except OSError as error:
            self._write_error = _because(error)
        self._report()

    def begin(self) -> None:
        """Makes the file, with its first line. Raises OSError, SessionBusy."""
        try:
            file = self._open_file()
            if self._is_header_due:
                file.append(self._begin())
                self._is_header_due = False
        except BaseException:
            self.close()
            raise
        with self._making:
            self._unsynced_folders = (self.folder, self.folder.parent)
        self._written(1, now=False)

    def keep_result(self, call_id: str, text: str) -> Path | None:
        """See `SessionWriter.keep_result`."""
        try:
            folder = self._make_folder()
            if not self._is_swept:
                self._is_swept = True
                # Other calls may be writing theirs at this moment.
                sweep_temporaries(folder / TOOL_RESULTS, before=time.time() - _LEFT_BEHIND)
            return write_result(folder, call_id, text, self._calls, self._sync.written)
        except OSError:
            return None

    def _drain(self) -> None:
        try:
            self._write_backlog()
        except SessionBusy as error:
            self._write_error = error.message
        except OSError as error:
            self._write_error = _because(error)
            # On a full disk, what was deleted to make room takes its room until nobody holds it open.
            if self._file is not None and not self._file.in_place():
                self._close_file()
        else:
            self._write_error = None
        self._report()

    def _report(self) -> None:
        failing: str | None = None
        if self._write_error is not None:
            failing = f"not being saved: {self._write_error}"
        elif self._sync.error is not None:
            failing = f"not safely saved: {_because(self._sync.error)}"
        if failing != self.failing:
            self.failing = failing
            if self.on_state is not None:
                self.on_state(failing)

    def _write_backlog(self) -> None:
        has_moved, count = False, 0
        try:
            while self._backlog:
                file = self._open_file()
                if self._is_header_due:
                    file.append(self._begin())
                    self._is_header_due = False
                file.append(self._backlog[0])
                # A deleted or replaced file takes writes too, and they are gone with it. Looking again after
                # a second time could go on for ever where a file system changes its inode numbers.
                if not has_moved and not file.in_place():
                    has_moved = True
                    self._close_file()
                    continue
                self._backlog.popleft()
                count += 1
        finally:
            now = self._is_sync_wanted and not self._backlog
            if count or now:
                self._written(count, now=now)

    def _written(self, count: int, *, now: bool) -> None:
        if self._file is None:
            return
        with self._making:
            folders, self._unsynced_folders = self._unsynced_folders, ()
        self._sync.written(self._file.descriptor, count, folders, now=now)
        self._is_sync_wanted &= not now

    def _open_file(self) -> AppendFile:
        """The open file; made, with its folder and the lock, where missing. Raises OSError, SessionBusy."""
        if self._file is not None:
            return self._file
        self._make_folder()
        if self._lock is not None and not self._lock.in_place():
            self._lock.release()
            self._lock = None
        if self._lock is None:
            self._lock = SessionLock.take(self.folder, since=self._now())
        self._file = AppendFile(self.folder / CONVERSATION, self._calls)
        if self._file.new:
            self._is_header_due = True
        return self._file

    def _make_folder(self) -> Path:
        """The session's folder, made where it is missing."""
        with self._making:
            if not self._is_claimed or not self.folder.is_dir():
                self.folder = make_session_folder(
                    self.folder, self._prepare, self._calls, self._now, may_exist=self._is_claimed
                )
                self._is_claimed = True
                self._unsynced_folders = (self.folder, self.folder.parent)
            return self.folder

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def make_session_folder(
    wanted: Path,
    prepare: Callable[[], object] | None,
    calls: FileCalls,
    now: Callable[[], float],
    *,
    may_exist: bool = False,
) -> Path:
    """Makes the folder, or where another process has one of that name, one with another name, unless it
    ``may_exist``. Raises OSError."""
    if prepare is not None:
        prepare()
    private_dir(wanted.parent, calls.make_folder)
    while True:
        try:
            calls.make_folder(wanted)
        except FileExistsError:
            if not may_exist:
                wanted = wanted.with_name(new_session_name(now()))
                continue
        return wanted


def new_session_name(now: float) -> str:
    """``<YYYYMMDD-HHMMSS-xxxx>``, in local time."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{os.urandom(2).hex()}"


def _because(error: OSError) -> str:
    return error.strerror or str(error)
