"""What a look at the beginning and the end of a session's file tells, before all of it is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mewcode.sessions.append_file import CAREFUL, CONVERSATION
from mewcode.sessions.catalog_fold import SessionState, fold_line

LONGEST = 128 << 20
"""Bytes of a line that are read: no service takes so much, and a file from elsewhere may be one line."""
_PIECE = 32 << 10
"""Bytes at the beginning and at the end."""


def open_conversation(folder: Path) -> BinaryIO:
    """The session's file, to be read; never one that a link leads to. Raises OSError."""
    flags = os.O_RDONLY | CAREFUL
    return open(os.open(folder / CONVERSATION, flags), "rb")


def lines_in(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """The lines from here on, each with its bytes. One that is longer than `LONGEST` comes as an empty line,
    or where it has no end as a beginning, which is no record."""
    while line := stream.readline(LONGEST):
        size = len(line)
        if size == LONGEST and not line.endswith(b"\n"):
            line = line[:1]
            while rest := stream.readline(_PIECE):
                size += len(rest)
                if rest.endswith(b"\n"):
                    line = b"\n"
                    break
        yield line, size


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
