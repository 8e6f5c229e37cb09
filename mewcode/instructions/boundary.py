"""Which files instructions may include."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec


class Approvals(Protocol):
    """Includes from beyond the boundary that the user has approved, by file and content."""

    def digest(self, path: Path) -> str | None:
        """The digest of the content that was approved for a resolved path; None where none was. Reads
        nothing of the file, never raises."""
        ...


class Boundary(msgspec.Struct, frozen=True):
    """``roots``: resolved folders, each with the slash that ends its name. A path is inside where it,
    resolved, is one of them or lies below: as a path, never as a piece of text, and with links followed."""

    roots: tuple[str, ...]

    def allows(self, resolved: str) -> bool:
        return f"{resolved}/".startswith(self.roots)


def boundary_of(folders: Sequence[Path]) -> Boundary:
    """The boundary around folders that need not exist."""
    return Boundary(tuple(dict.fromkeys(with_slash(os.path.realpath(folder)) for folder in folders)))


def with_slash(folder: str) -> str:
    """What all paths below a folder begin with."""
    return f"{folder.rstrip('/')}/"


def meant_path(written: str, folder: str, home: str) -> str:
    """The path that an include in a file of ``folder`` means; ``~`` is the user's home, no other's."""
    if written == "~" or written.startswith("~/"):
        return os.path.join(home, written[2:])
    return os.path.join(folder, written)
