"""Where notes are: the folder of each level, and whether what lies there may be read.

The user level belongs to the user of the operating system, or to whom ``MEWCODE_USER`` names. The project
level belongs to the repository: its linked work trees have that of the main one. Two folders of one name are
two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from mewcode.infra.git_folders import main_work_tree
from mewcode.infra.paths import Places, private_dir, project_of

if TYPE_CHECKING:
    from mewcode.memory.note import Level

MEMORY = "memory"
USERS = "users"
INBOX = "inbox"
ARCHIVE = "archive"
ROOMS = ("", INBOX, ARCHIVE)
"""The folders of a level's notes: those in force, those that wait for the user's yes, those at rest."""


class Trust(Protocol):
    """The user's word on a folder that a repository may have brought. Asked at each look; never raises."""

    def is_trusted(self) -> bool:
        """Whether the user trusts all that lies there."""
        ...

    def seal(self, what: str) -> str:
        """A mark that nobody but this user's MewCode can make; "" where it cannot be made."""
        ...

    def is_sealed(self, what: str, mark: str) -> bool:
        """Whether `seal` made this mark for this text."""
        ...


class Shelf(msgspec.Struct, frozen=True):
    """The notes of one level. ``folder`` need not exist: ``prepare`` makes it before the first write, and may
    raise OSError. ``trust``: None where the folder is the user's own."""

    level: Level
    folder: Path
    prepare: Callable[[], object]
    trust: Trust | None = None


def user_folder(places: Places, environ: Mapping[str, str]) -> Path:
    """The folder of the user's notes."""
    name = environ.get("MEWCODE_USER", "").strip()
    if not name:
        return places.user / MEMORY
    import hashlib

    from mewcode.memory.names import slug

    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()
    return places.user / USERS / f"{slug(name) or 'user'}-{digest}" / MEMORY


def project_places(places: Places) -> Places:
    """The places of the project whose notes count here: those of the repository's main work tree."""
    root = main_work_tree(places.root)
    return places if root == places.root else Places(root, root, places.user, project_of(root, places.user))


def user_shelf(places: Places, environ: Mapping[str, str]) -> Shelf:
    """The user's own notes."""
    folder = user_folder(places, environ)
    return Shelf("user", folder, lambda: private_dir(folder))
