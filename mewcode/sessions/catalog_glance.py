"""What a look at the beginning and the end of a session's file tells, before all of it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.catalog_fold import SessionState, fold_line

_PIECE = 32 << 10
"""Bytes at the beginning and at the end."""


def open_conversation(folder: Path) -> BinaryIO:
    """The session's file, to be read; never one that a link leads to. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return open(os.open(folder / CONVERSATION, flags), "rb")


def glance(folder: Path) -> SessionState:
    """First prompt, model, branch and folder from the beginning, titles, labels and the time of the last
    record from the end. Nothing is counted rightly. Raises OSError."""
    state = SessionState()
    with open_conversation(folder) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        lines = stream.read(_PIECE).split(b"\n")
        if size > _PIECE:
            lines.pop()  # it was cut
            start = max(_PIECE, size - _PIECE)
            stream.seek(start)
            lines += stream.read(_PIECE).split(b"\n")[1:]
    for line in lines:
        if line:
            for _ in fold_line(state, line, _is_new):
                pass
    return state


def _is_new(_key: int) -> bool:
    return True
