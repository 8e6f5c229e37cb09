"""The writer of a session's archive: it adds, never rewrites, and lets no disk stop the conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import msgspec

from mewcode.core.errors import SessionBusy, SessionError
from mewcode.core.ids import new_id
from mewcode.core.message import Message
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.reader import LoadedSession, load_session
from mewcode.sessions.record import (
    Fork,
    Totals,
    compact_record,
    decode_line,
    encode_message,
    encode_record,
    rewind_record,
    session_record,
)
from mewcode.sessions.session_file import SessionFile, StateCallback, WriterOptions, new_session_name

__all__ = ["SessionWriter", "StateCallback", "WriterOptions"]

_POLL = 0.05
"""Seconds between two looks at a lock that another process holds."""
_HEADER_LIMIT = 65_536
_UNKNOWN = ""
"""In place of a message's id: what it follows is in the file, but was not read."""


class SessionWriter:
    """Adds messages and control records to ``<folder>/conversation.jsonl``; holds the session's lock.

    Used by one thread, but for `keep_result`. No method raises because of the disk: what cannot be written
    waits in memory, in order and without limit, and is tried again with each record, at `flush` and at
    `close`. Meanwhile `failing` says why. Nothing is on disk before the first message. A folder that is
    deleted while running is made again, with a new ``session`` record and what comes from there on. After
    `close` a further record opens the file again.

    Each record is durable 200 ms or 64 records after it was written, at the latest.
    """

    def __init__(
        self,
        folder: Path,
        about: dict[str, str],
        parent: str | msgspec.UnsetType | None,
        *,
        is_there: bool = False,
        fork: Fork | None = None,
        **options: Unpack[WriterOptions],
    ) -> None:
        """See `create`, `open` and `forking.fork_session`, which are the ways to get one. ``about``: cwd,
        mode, provider, model. ``is_there``: the folder was made for this session."""
        self._about = about
        self._head = parent
        self._fork = fork
        self._now = options.get("now", time.time)
        self._seal = options.get("seal")
        self._branch = options.get("branch", "")
        self._file = SessionFile(folder, self._session_line, is_there=is_there, **options)
        self._is_started = is_there  # there is a message, so there is something to keep
        self._is_behind = False  # the file says more of the conversation than is known here
        self._links: dict[str, str | None] = {}  # archived messages, and what each follows
        self._marker: str | None = None  # of the last compaction
        self._model: str | None = None

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
        folder = project_sessions_dir / new_session_name(options.get("now", time.time)())
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
        """Takes the lock of a session to continue it. Load the session after this, not before, and say with
        `follow` what was loaded.

        ``parent``: the message that the next one follows (default: the last in the file). Blocks for up to
        ``wait`` seconds, then raises SessionBusy; SessionError where there is no such session. A disk that
        cannot be written is no error: see `failing`.
        """
        if not (folder / CONVERSATION).is_file():
            raise SessionError(f"There is no session in {folder}.")
        writer = cls(folder, _read_about(folder / CONVERSATION), parent, is_there=True, **options)
        writer._is_behind = True
        deadline = time.monotonic() + wait
        while True:
            try:
                writer._file.try_open()
            except SessionBusy:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_POLL)
                continue
            return writer

    @property
    def id(self) -> str:
        """The session's id, the name of its folder. Final with the first message: where another process
        made a folder of that name in the same second, another name is taken."""
        return self._file.folder.name

    @property
    def folder(self) -> Path:
        return self._file.folder

    @property
    def failing(self) -> str | None:
        """Why records wait in memory, or may not survive a power cut; None where all is well."""
        return self._file.failing

    @property
    def on_state(self) -> StateCallback | None:
        """Called with `failing` when that changes."""
        return self._file.on_state

    @on_state.setter
    def on_state(self, tell: StateCallback | None) -> None:
        self._file.on_state = tell

    @property
    def head(self) -> str | None:
        """The id of the message (or of the compaction's marker) that the next message follows; None at the
        start. In a session that was opened and not followed the file is read for it, at its first use."""
        if self._head is msgspec.UNSET:
            self._catch_up()
        return None if self._head is msgspec.UNSET else self._head

    def begin(self) -> None:
        """Makes the file of a session whose folder is there, with its session record, before any message.
        Raises OSError, SessionBusy."""
        self._file.begin()

    def follow(self, loaded: LoadedSession) -> None:
        """Takes over what a load of this session has found (as loaded, before any repair): its head, its
        messages, its mode, model and provider. Called once after `open`, before anything is added; without
        it, `head`, `rewind` and `compact` read the file themselves."""
        self._is_behind = False
        before: str | None = None
        for message in loaded.messages:
            self._links[message.id] = before
            before = message.id
        if self._head is msgspec.UNSET:
            self._head = loaded.last_id
        for name in ("mode", "model", "provider"):
            self._about[name] = getattr(loaded, name) or self._about[name]

    def append(self, message: Message, *, sync: bool = False) -> None:
        """Adds one message, as one record. With ``sync`` it is made durable at once, in another thread."""
        if not message.id:
            message = msgspec.structs.replace(message, id=new_id())
        self._is_started = True
        self._file.add([self._message_line(message)], sync=sync)

    def append_record(self, record: dict[str, Any], *, sync: bool = False) -> None:
        """Adds a control record (see `record`). Before the first message it waits for that."""
        if record.get("type") == "state":
            self._about.update({key: str(value) for key, value in record.items() if key in self._about})
        line = encode_record(record)
        if self._is_started:
            self._file.add([line], sync=sync)
        else:
            self._file.hold_back(line)

    def rewind(self, to: str | None) -> None:
        """Goes back: the next message follows the one named ``to`` (None: nothing). One record, made durable
        at once; nothing where it follows that one already."""
        head = self.head
        if to != head:
            self.append_record(rewind_record(new_id(), ts=self._now(), to=to, before=head), sync=True)
            self._head = to

    def compact(self, messages: Sequence[Message], *, turns: int, totals: Totals) -> tuple[Message, ...]:
        """Begins the conversation anew with ``messages``: a marker, then a record for each of them, made
        durable at once. What is archived already is copied, under a new id; what is not (a summary) is
        added as it is. Returns the messages under the ids that they have now: go on with these.

        ``turns``: the user's messages so far; ``totals``: all that the session has used. The copies should
        have 45,000 tokens at most. Where ``messages`` are the conversation as it stands, nothing is written.
        """
        head = self.head
        if self._is_behind:
            self._catch_up()
        if [message.id for message in messages] == self._conversation():
            return tuple(messages)
        marker = new_id()
        record = compact_record(
            marker,
            ts=self._now(),
            parent=head,
            about=self._about,
            turns=turns,
            totals=totals,
            messages=len(messages),
        )
        self._head = self._marker = marker
        self._model = None  # who begins to read at the marker has seen none named
        lines, begun = [encode_record(record)], []
        for message in messages:
            of = message.id if message.id in self._links else ""
            if of or not message.id:
                message = msgspec.structs.replace(message, id=new_id())
            lines.append(self._message_line(message, of))
            begun.append(message)
        self._is_started = True
        self._file.add(lines, sync=True)
        return tuple(begun)

    def keep_result(self, call_id: str, text: str) -> Path | None:
        """Writes a tool result's whole text to ``tool-results/<call id>`` in the session's folder, which is
        made where it is missing; the file's path, or None where the disk refuses.

        Takes as long as the disk does: call it in a thread of its own. Never raises. The file is whole or
        not there; one that is there is never changed.
        """
        return self._file.keep_result(call_id, text)

    def sync(self) -> None:
        """Asks that all records so far be made durable, and returns at once."""
        self._file.sync()

    def flush(self) -> bool:
        """Tries the waiting records again and waits until all are durable; True where nothing failed."""
        return self._file.flush(retry=self._is_started)

    def close(self) -> None:
        """As `flush`, then lets go of the file and the lock."""
        self.flush()
        self._file.close()

    def _message_line(self, message: Message, of: str = "") -> bytes:
        model = self._model_to_write(message)
        line = encode_message(message, ts=self._now(), parent=self._head, model=model, of=of)
        before = _UNKNOWN if self._head is msgspec.UNSET else self._head
        self._links[message.id] = None if before == self._marker else before
        self._head = message.id
        return line

    def _model_to_write(self, message: Message) -> str | None:
        """The model's name where this record must bear it: on the first message, and where it changes."""
        model: str | None = message.model
        if message.role != "assistant":
            first = self._head is None and self._model is None
            model = (first and self._about["model"]) or self._model
        if model == self._model:
            return None
        self._model = model
        return model

    def _conversation(self) -> list[str] | None:
        """The ids of the messages that lead to the head; None where they are not all known."""
        ids: list[str] = []
        place = self.head
        while place is not None and place != self._marker:
            if place not in self._links:
                return None
            ids.append(place)
            place = self._links[place]
        return ids[::-1]

    def _catch_up(self) -> None:
        self._is_behind = False
        try:
            self.follow(load_session(self.folder))
        except SessionError:  # what cannot be read is not continued either, and that will be said
            return

    def _session_line(self) -> bytes:
        self._model = None  # the new file has named none yet
        about, fork = self._about, self._fork
        if fork is not None and not all((self.folder / base.file).is_file() for base in fork.bases):
            fork = None  # they were deleted with the file that this one replaces
        record = session_record(
            self.id,
            ts=self._now(),
            cwd=about["cwd"],
            mode=about["mode"],
            provider=about["provider"],
            model=about["model"],
            seal=self._seal(self.id) if self._seal is not None else "",
            branch=self._branch,
            fork=fork,
        )
        return encode_record(record)


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
