"""What a session takes on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from mewcode.sessions.append_file import CONVERSATION


class Space(msgspec.Struct, frozen=True):
    """Bytes: of the conversation (what a fork continues included), of results and checkpoints beside it, of
    all else in the folder."""

    conversation: int = 0
    tool_results: int = 0
    checkpoints: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        return self.conversation + self.tool_results + self.checkpoints + self.other


_PARTS = {CONVERSATION: "conversation", "tool-results": "tool_results", "checkpoints": "checkpoints"}


Seen = set[tuple[int, int]]


def space_of(folder: Path, seen: Seen | None = None) -> Space:
    """Follows no symbolic link; what cannot be read counts as nothing.

    A file counts once, by whichever name: forks share files with what they continue. ``seen`` holds those
    that count elsewhere, and gets those of this folder: one set for all sessions gives what they take in all.
    """
    seen = set() if seen is None else seen
    sizes = dict.fromkeys(Space.__struct_fields__, 0)
    for entry in sorted(_entries(folder), key=lambda entry: entry.name):
        sizes[_part(entry.name)] += _size(entry, seen)
    return Space(**sizes)


def _part(name: str) -> str:
    is_base = name.startswith("base-") and name.endswith(".jsonl")
    return "conversation" if is_base else _PARTS.get(name, "other")


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # gone meanwhile, or not ours to read
        return []


def _size(entry: os.DirEntry[str], seen: Seen) -> int:
    total, waiting = 0, [entry]
    while waiting:
        item = waiting.pop()
        try:
            if item.is_dir(follow_symlinks=False):
                waiting += _entries(item.path)
                continue
            status = item.stat(follow_symlinks=False)
            if status.st_nlink > 1:
                identity = (status.st_dev, status.st_ino)
                if identity in seen:
                    continue
                seen.add(identity)
            total += status.st_size
        except OSError:
            continue
    return total
