"""The writer of a session's archive: it adds, never rewrites, and lets no disk stop the conversation."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from mewcode.core.errors import SessionBusy, SessionError
from mewcode.core.ids import new_id
from mewcode.core.message import Message
from mewcode.infra.paths import private_dir
from mewcode.sessions.append_file import CONVERSATION, AppendFile, FileCalls
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.record import decode_line, encode_message, encode_record, session_record
from mewcode.sessions.sync_thread import SyncThread

_POLL = 0.05
"""Seconds between two looks at a lock that another process holds."""
_HEADER_LIMIT = 65_536

StateCallback = Callable[[str | None], None]


class WriterOptions(TypedDict, total=False):
    """``now``: the clock. ``on_state``: called with `SessionWriter.failing` when that changes. ``prepare``:
    called each time before the session's folder is made, to make the project folder as it should be; may
    raise OSError. ``seal``: the mark for a session's id by which its maker is known again (see
    `LoadedSession.seal`). ``calls``: the system calls."""

    now: Callable[[], float]
    on_state: StateCallback | None
    prepare: Callable[[], object] | None
    seal: Callable[[str], str] | None
    calls: FileCalls


class SessionWriter:
    """Adds messages and control records to ``<folder>/conversation.jsonl``; holds the session's lock.

    Used by one thread. No method raises because of the disk: what cannot be written waits in memory, in
    order and without limit, and is tried again with each record, at `flush` and at `close`. Meanwhile
    `failing` says why. Nothing is on disk before the first message. A folder that is deleted while running
    is made again, with a new ``session`` record and what comes from there on. After `close` a further
    record opens the file again.
    """

    def __init__(
        self,
        folder: Path,
        about: dict[str, str],
        parent: str | msgspec.UnsetType | None,
        **options: Unpack[WriterOptions],
    ) -> None:
        """See `create` and `open`, which are the ways to get one. ``about``: cwd, mode, provider, model."""
        self.failing: str | None = None
        self.on_state = options.get("on_state")
        self._folder = folder
        self._about = about
        self._parent = parent
        self._now = options.get("now", time.time)
        self._prepare = options.get("prepare")
        self._seal = options.get("seal")
        self._calls = options.get("calls", FileCalls())
        self._sync = SyncThread(self._calls)
        self._file: AppendFile | None = None
        self._lock: SessionLock | None = None
        self._backlog: deque[bytes] = deque()
        self._write_error: str | None = None
        self._started = False  # there is a message, so there is something to keep
        self._claimed = False  # the folder was made by us, or was there to be continued
        self._header_due = False
        self._model: str | None = None
        self._unsynced_folders: tuple[Path, ...] = ()
        self._sync_wanted = False

    @classmethod
    def create(
        cls,
        project_sessions_dir: Path,
        *,
        cwd: str | Path,
        provider: str,
        model: str,
        mode: str,
        **options: Unpack[WriterOptions],
    ) -> SessionWriter:
        """A new session ``<YYYYMMDD-HHMMSS-xxxx>`` (local time) whose folder is made with the first message.

        Writes nothing, never raises.
        """
        about = {"cwd": str(cwd), "mode": mode, "provider": provider, "model": model}
        folder = project_sessions_dir / _new_name(options.get("now", time.time)())
        return cls(folder, about, None, **options)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        wait: float = 0.0,
        parent: str | msgspec.UnsetType | None = msgspec.UNSET,
        **options: Unpack[WriterOptions],
    ) -> SessionWriter:
        """Takes the lock of a session to continue it. Load the session after this, not before.

        ``parent``: the message that the next one follows (default: the last in the file). Blocks for up to
        ``wait`` seconds, then raises SessionBusy; SessionError where there is no such session. A disk that
        cannot be written is no error: see `failing`.
        """
        if not (folder / CONVERSATION).is_file():
            raise SessionError(f"There is no session in {folder}.")
        writer = cls(folder, _read_about(folder / CONVERSATION), parent, **options)
        writer._started = writer._claimed = True
        deadline = time.monotonic() + wait
        while True:
            try:
                writer._open_file()
            except OSError as error:
                writer._write_error = _because(error)
            except SessionBusy:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_POLL)
                continue
            writer._report()
            return writer

    @property
    def id(self) -> str:
        """The session's id, the name of its folder. Final with the first message: where another process
        made a folder of that name in the same second, another name is taken."""
        return self._folder.name

    @property
    def folder(self) -> Path:
        return self._folder

    def append(self, message: Message, *, sync: bool = False) -> None:
        """Adds one message, as one record. With ``sync`` it is made durable soon, in another thread."""
        if not message.id:
            message = msgspec.structs.replace(message, id=new_id())
        model = self._model_to_write(message)
        line = encode_message(message, ts=self._now(), parent=self._parent, model=model)
        self._parent = message.id
        self._started = True
        self._add(line, sync)

    def append_record(self, record: dict[str, Any], *, sync: bool = False) -> None:
        """Adds a control record (see `record`). Before the first message it waits for that."""
        if record.get("type") == "state":
            self._about.update({key: str(value) for key, value in record.items() if key in self._about})
        self._add(encode_record(record), sync)

    def sync(self) -> None:
        """Asks that all records so far be made durable, and returns at once."""
        if self._backlog or self._file is None:
            self._sync_wanted = bool(self._backlog)
            return
        self._sync_wanted = False
        self._sync.request(self._file.descriptor, self._unsynced_folders)
        self._unsynced_folders = ()

    def flush(self) -> bool:
        """Tries the waiting records again and waits for the syncs under way; True where nothing failed."""
        if self._started and self._backlog:
            self._drain()
        self._sync.wait()
        self._report()
        return self.failing is None

    def close(self) -> None:
        """As `flush`, then lets go of the file and the lock."""
        self.flush()
        self._close_file()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _model_to_write(self, message: Message) -> str | None:
        """The model's name where this record must bear it: on the first message, and where it changes."""
        model: str | None = message.model
        if message.role != "assistant":
            first = self._parent is None and self._model is None
            model = (first and self._about["model"]) or self._model
        if model == self._model:
            return None
        self._model = model
        return model

    def _add(self, line: bytes, sync: bool) -> None:
        self._backlog.append(line)
        if self._started:
            self._drain()
            if sync:
                self.sync()

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
        moved = False
        while self._backlog:
            file = self._open_file()
            if self._header_due:
                file.append(self._session_line())
                self._header_due = False
            file.append(self._backlog[0])
            # A deleted or replaced file takes writes too, and they are gone with it. Looking again after a
            # second time could go on for ever where a file system changes its inode numbers.
            if not moved and not file.in_place():
                moved = True
                self._close_file()
                continue
            self._backlog.popleft()
        if self._sync_wanted:
            self.sync()

    def _open_file(self) -> AppendFile:
        """The open file; made, with its folder and the lock, where missing. Raises OSError, SessionBusy."""
        if self._file is not None:
            return self._file
        if not self._claimed or not self._folder.is_dir():
            self._make_folder()
        if self._lock is not None and not self._lock.in_place():
            self._lock.release()
            self._lock = None
        if self._lock is None:
            self._lock = SessionLock.take(self._folder, since=self._now())
        self._file = AppendFile(self._folder / CONVERSATION, self._calls)
        if self._file.new:
            self._header_due = True
            self._model = None  # the new file has named none yet
        return self._file

    def _make_folder(self) -> None:
        if self._prepare is not None:
            self._prepare()
        private_dir(self._folder.parent, self._calls.make_folder)
        while True:
            try:
                self._calls.make_folder(self._folder)
                break
            except FileExistsError:
                if self._claimed:
                    break
                self._folder = self._folder.with_name(_new_name(self._now()))
        self._claimed = True
        self._unsynced_folders = (self._folder, self._folder.parent)

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _session_line(self) -> bytes:
        seal = self._seal(self.id) if self._seal is not None else ""
        about = self._about
        record = session_record(
            self.id,
            ts=self._now(),
            cwd=about["cwd"],
            mode=about["mode"],
            provider=about["provider"],
            model=about["model"],
            seal=seal,
        )
        return encode_record(record)


def _because(error: OSError) -> str:
    return error.strerror or str(error)


def _new_name(now: float) -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{os.urandom(2).hex()}"


def _read_about(path: Path) -> dict[str, str]:
    """What the file's ``session`` record says; empty where it has none."""
    about = {"cwd": "", "mode": "", "provider": "", "model": ""}
    try:
        with path.open("rb") as stream:
            record = decode_line(stream.readline(_HEADER_LIMIT))
    except OSError:  # what cannot be read cannot be written either, and that will be said
        return about
    if isinstance(record, dict) and record.get("type") == "session":
        about.update({key: value for key in about if isinstance(value := record.get(key), str)})
    return about
