"""Which files of a project's notes MewCode wrote itself, where the user does not trust the folder as a whole.

The list carries a seal that nobody else can make. Without it, or beyond it, what lies there came with the
folder: it is not read, and where all came with it, nothing is written either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from mewcode.core.codec import decode_json, encode_json
from mewcode.infra.atomic import write_atomic
from mewcode.memory.lock import LOCK
from mewcode.memory.paths import Shelf, Trust

LEDGER = ".made.json"
TEMPORARY = r"\..*\.[A-Za-z0-9]{8}\.tmp"
"""Names of what is to become a file of ours (see `infra.atomic.temporary_name`)."""
_MOST = 4 << 20
"""Bytes of the list that are read."""


class Standing(msgspec.Struct, frozen=True):
    """How a level stands. ``is_open``: it may be read and written. ``made``: the files that count; None
    where all do."""

    is_open: bool
    made: frozenset[str] | None = None

    def withheld(self, files: Iterable[str]) -> list[str]:
        """Those of these files that may not be read."""
        if self.is_open and self.made is None:
            return []
        return sorted(file for file in files if not self.counts(file))

    def counts(self, file: str) -> bool:
        """Whether that file may be read."""
        return self.is_open and (self.made is None or file in self.made)


def standing_of(shelf: Shelf) -> Standing:
    """How the level stands now."""
    trust, folder = shelf.trust, shelf.folder
    if trust is None or trust.is_trusted():
        return Standing(True)
    if folder.is_symlink() or folder.parent.is_symlink():
        return Standing(False, frozenset())
    if _brings_nothing(folder):
        return Standing(True, frozenset())
    made = _read(folder, trust)
    return Standing(False, frozenset()) if made is None else Standing(True, made)


def record_made(shelf: Shelf, files: set[str]) -> None:
    """Adds files to the list, where the level needs one. Raises OSError."""
    trust = shelf.trust
    if trust is None or trust.is_trusted():
        return
    made = _read(shelf.folder, trust) or frozenset()
    if made and files <= made:
        return
    names = sorted(made | files)
    value = {"seal": trust.seal(_sealed(names)), "files": names}
    write_atomic(shelf.folder / LEDGER, encode_json(value) + b"\n")


def _brings_nothing(folder: Path) -> bool:
    """Whether nothing lies there yet but what a first write leaves on its way."""
    try:
        return all(name == LOCK or re.fullmatch(TEMPORARY, name) for name in os.listdir(folder))
    except FileNotFoundError:
        return True
    except OSError:  # not to be read: nothing is known
        return False


def _read(folder: Path, trust: Trust) -> frozenset[str] | None:
    try:
        with (folder / LEDGER).open("rb") as stream:
            value = decode_json(stream.read(_MOST))
    except (OSError, ValueError):  # there is none
        return None
    names = value.get("files") if isinstance(value, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    is_ours = trust.is_sealed(_sealed(names), str(value.get("seal", "")))
    return frozenset(names) if is_ours else None


def _sealed(names: list[str]) -> str:
    return "notes\n" + "\n".join(names)
