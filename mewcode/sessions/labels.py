"""Titles, pins and tags: records that any process adds to a session, whoever is writing it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mewcode.core.errors import SessionError
from mewcode.sessions.append_file import CONVERSATION, AppendFile, FileCalls
from mewcode.sessions.record import encode_record


def add_label(folder: Path, record: dict[str, Any]) -> None:
    """Adds a label (see `record`) to the session's file and makes it durable. Raises SessionError.

    Needs no lock: it is one whole line, and lines of several processes do not mix. To label a session is no
    activity: the time of its last write stays, so that ``-c`` still finds the newest one.
    """
    path = folder / CONVERSATION
    calls = FileCalls()
    try:
        before = os.stat(path, follow_symlinks=False)
        file = AppendFile(path, calls)
        try:
            file.append(encode_record(record))
            calls.sync(file.descriptor)
            os.utime(file.descriptor, ns=(before.st_atime_ns, before.st_mtime_ns))
        finally:
            file.close()
    except OSError as error:
        raise SessionError(
            f"Session {folder.name} cannot be written: {error.strerror or error} ({path})"
        ) from error
