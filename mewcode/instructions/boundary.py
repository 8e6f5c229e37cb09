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
    """``roots``: resolved folders. A path is inside where it, resolved, lies below one of them: as a path,
    never as a piece of text, and with links followed."""

    roots: tuple[Path, ...]

    def allows(self, resolved: Path) -> bool:
        return any(resolved.is_relative_to(root) for root in self.roots)


def boundary_of(folders: Sequence[Path]) -> Boundary:
    """The boundary around folders that need not exist."""
    return Boundary(tuple(dict.fromkeys(map(resolved_path, folders))))


def resolved_path(path: Path) -> Path:
    """The path without links, whether it exists or not. Raises OSError for links in a circle and ValueError
    for what is no file name."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        raise
    except RuntimeError as error:  # how some versions say that links go in a circle
        raise OSError(str(error)) from error


def meant_path(written: str, folder: Path, home: Path) -> Path:
    """The path that an include in a file of ``folder`` means; ``~`` is the user's home, no other's."""
    if written == "~" or written.startswith("~/"):
        return home / written[2:]
    return folder / written
