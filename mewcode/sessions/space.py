"""What a session takes on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from mewcode.sessions.append_file import CONVERSATION


class Space(msgspec.Struct, frozen=True):
    """Bytes: of the conversation, of results and checkpoints beside it, of all else in the folder."""

    conversation: int = 0
    tool_results: int = 0
    checkpoints: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        return self.conversation + self.tool_results + self.checkpoints + self.other


_PARTS = {CONVERSATION: "conversation", "tool-results": "tool_results", "checkpoints": "checkpoints"}


def space_of(folder: Path) -> Space:
    """Follows no symbolic link; what cannot be read counts as nothing."""
    sizes = dict.fromkeys(Space.__struct_fields__, 0)
    for entry in _entries(folder):
        sizes[_PARTS.get(entry.name, "other")] += _size(entry)
    return Space(**sizes)


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # gone meanwhile, or not ours to read
        return []


def _size(entry: os.DirEntry[str]) -> int:
    total, waiting = 0, [entry]
    while waiting:
        item = waiting.pop()
        try:
            if item.is_dir(follow_symlinks=False):
                waiting += _entries(item.path)
            else:
                total += item.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total
