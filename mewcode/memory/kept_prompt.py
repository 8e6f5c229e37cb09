"""What a start has said of the notes in its prompt, kept for the next: where every file is as it was, it says
the same, and no note is looked into."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mewcode._version import __version__
from mewcode.infra.kept_file import KeptFile
from mewcode.memory.paths import Shelf

_LOG = logging.getLogger("mewcode.memory")
MOST_BYTES = 1_000_000
"""Of what is kept: an index and the signs of several thousand notes."""
_SURE_AFTER = 2_000_000_000
"""Nanoseconds after a change in which another might leave the same signs, where a file system counts in
seconds."""
_LONGEST = 86_400.0
"""Seconds for which uses need not show: they only say what is left out, and what comes first."""
_LEDGER = ".made.json"
"""Says which files count where the folder is not trusted: see `ledger`."""

Signs = dict[str, tuple[int, int, int]]
"""By name: time of change in nanoseconds, size, inode."""


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """``until``: Unix time at which it is to be made anew in any case."""

    key: tuple[str, ...]
    signs: list[Signs]
    until: float
    text: str


class KeptPrompt:
    """Of the notes of these levels. To be made anew for each prompt: what is there is looked at once."""

    def __init__(
        self, shelves: Sequence[Shelf], file: KeptFile, clock: Callable[[], float] = time.time
    ) -> None:
        self._shelves = shelves
        self._file = file
        self._now = clock()
        self._signs = [_signs_of(shelf.folder) for shelf in shelves]

    def find(self) -> str | None:
        """The text; None where it has to be made anew."""
        try:
            kept = msgspec.msgpack.decode(self._file.read(), type=_Kept)
        except (OSError, ValueError):  # none, or not ours; `msgspec.MsgspecError` is a ValueError
            return None
        is_same = kept.signs == self._signs and kept.key == self._key()
        return kept.text if is_same and self._now < kept.until else None

    def keep(self, text: str, until: float) -> None:
        """Keeps the text, where the next start would surely see a change. ``until``: Unix time at which the
        first of the notes ends. Never raises."""
        until = min(until, self._now + _LONGEST)
        sure = int(self._now * 1_000_000_000) - _SURE_AFTER
        if any(sign[0] >= sure for signs in self._signs for sign in signs.values()):
            return
        try:
            self._file.write(msgspec.msgpack.encode(_Kept(self._key(), self._signs, until, text)))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            _LOG.info("the index of notes is not kept for the next start: %s", why)

    def _key(self) -> tuple[str, ...]:
        """All that the text depends on besides the files."""
        key = [__version__]
        for shelf in self._shelves:
            trusted = "own" if shelf.trust is None else str(shelf.trust.is_trusted())
            is_linked = shelf.folder.is_symlink() or shelf.folder.parent.is_symlink()
            key += [str(shelf.folder), trusted, str(is_linked)]
        return tuple(key)


def _signs_of(folder: Path) -> Signs:
    """Of all files on which the index depends, links as such. A folder that cannot be read has none."""
    found: Signs = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".md") or entry.name == _LEDGER:
                    status = entry.stat(follow_symlinks=False)
                    found[entry.name] = (status.st_ctime_ns, status.st_size, status.st_ino)
    except OSError:  # the store says what is wrong with it
        found.clear()
    found.pop("MEMORY.md", None)
    return found
