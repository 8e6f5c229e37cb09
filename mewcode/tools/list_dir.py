"""One folder, as a list."""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.access import Access, ReadAccess
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.file_access import (
    explained,
    judged_path,
    missing,
    open_folder,
    refuse_no_folder,
    resolve_path,
    show_path,
)
from mewcode.tools.in_thread import Stop, in_thread

_SHOWN = 500


class ListDirArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A folder to list."""

    path: Annotated[str, Meta(description="The folder. Default: the working folder.")] = "."


class _Entry(Struct, frozen=True, order=True):
    """Sorts folders before files, then by name."""

    rank: int
    key: str
    name: str


class ListDirTool(Tool[ListDirArgs]):
    name = "list_dir"
    read_only = True
    args_type = ListDirArgs

    def accesses(self, args: ListDirArgs, session: ToolSession) -> Sequence[Access]:
        return (ReadAccess(judged_path(session, args.path)),)

    def summary(self, args: ListDirArgs, session: ToolSession) -> str:
        return safe_line(show_path(session, args.path))

    async def run(self, args: ListDirArgs, context: ToolContext) -> ToolOutcome:
        """Lists the folder. Raises `ToolError` for what is none or cannot be opened."""
        session = context.session
        path = resolve_path(session, args.path, context.judged)
        lines, count = await in_thread(lambda stop: _list(path, session, stop))
        body = "\n".join(lines)
        words = f"{count:,} entr{'y' if count == 1 else 'ies'}"
        if not lines:
            return ToolOutcome.text(f"{session.display(path)} is empty.", TextView("empty"))
        if count > len(lines):
            body += f"\n[{count - len(lines):,} more entries; narrow it with glob]"
        return ToolOutcome.text(body, TextView(words, safe_text(body)))


def _list(path: Path, session: ToolSession, stop: Stop) -> tuple[list[str], int]:
    shown = session.display(path)
    if not path.exists():
        raise missing(session, path)
    refuse_no_folder(path, shown)
    with explained(shown):
        folder = open_folder(path)
        try:
            # A descriptor that can be listed; the one that merely leads here may not be.
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            with os.scandir(listed) as entries:
                counter = _Counter()
                best = heapq.nsmallest(_SHOWN, counter.over(_keyed(entries, stop)))
            return [_line(entry, listed) for entry in best], counter.count
        finally:
            os.close(listed)


class _Counter:
    def __init__(self) -> None:
        self.count = 0

    def over(self, entries: Iterator[_Entry]) -> Iterator[_Entry]:
        for entry in entries:
            self.count += 1
            yield entry


def _keyed(entries: Iterator[os.DirEntry[str]], stop: Stop) -> Iterator[_Entry]:
    for entry in entries:
        stop.check()
        rank = 0 if entry.is_dir(follow_symlinks=False) else 1
        yield _Entry(rank, entry.name.casefold(), entry.name)


def _line(entry: _Entry, folder: int) -> str:
    name = entry.name.replace("\n", "\\n")
    try:
        status = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:  # removed since, or not to be looked at
        return f"{name}  ({error.strerror})"
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return f"{name}/"
    if stat.S_ISLNK(mode):
        return f"{name}@ -> {os.readlink(entry.name, dir_fd=folder)}"
    if stat.S_ISREG(mode):
        return f"{name}  {_size(status.st_size)}"
    kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
    return f"{name}  ({kind})"


def _size(count: int) -> str:
    """Bytes in the largest unit that keeps a digit before the point: ``512 B``, ``1.5 KB``."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("KB", "MB", "GB"):
        amount /= 1000
        if amount < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"
