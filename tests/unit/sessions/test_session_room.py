"""A disk on which room is made while it is full."""

from __future__ import annotations

import errno
import os

from session_strategies import FailingCalls, user

from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.reader import load_session


class FullDisk(FailingCalls):
    """Takes nothing more for the files that are open now: what they hold fills it."""

    def __init__(self) -> None:
        super().__init__()
        self.full: set[int] = set()
        self.opened: list[int] = []

    def open(self, path, flags, mode):
        self.opened.append(super().open(path, flags, mode))
        return self.opened[-1]

    def fill(self) -> None:
        self.full = {os.fstat(descriptor).st_ino for descriptor in self.opened}

    def write(self, descriptor, data):
        if os.fstat(descriptor).st_ino in self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(descriptor, data)


def test_what_is_deleted_to_make_room_is_let_go_of(tmp_path):
    disk = FullDisk()
    writer = SessionWriter.create(
        tmp_path / "sessions", cwd="/w", provider="p", model="m", mode="default", calls=disk
    )
    writer.append(user("u1"))
    disk.fill()
    writer.append(user("u2"))
    assert writer.failing == "not being saved: No space left on device"
    path = writer.folder / "conversation.jsonl"
    path.rename(tmp_path / "kept")  # its inode stays in use, and so does not come back as the new file's
    writer.append(user("u3"))  # fails as well, and finds out that the file is gone
    writer.append(user("u4"))
    assert writer.failing is None
    writer.close()
    assert [message.id for message in load_session(writer.folder).messages] == ["u2", "u3", "u4"]
