"""Joins the notes with the user's trust in folders and with the list of workspaces."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.config.schema import Config
from mewcode.config.trust import TrustStore, is_own_folder
from mewcode.infra.paths import Places, cache_dir, home_of, private_dir, project_dir
from mewcode.memory.paths import MEMORY, Shelf, project_places, user_folder, user_shelf

if TYPE_CHECKING:
    from mewcode.memory.store import NoteStore


class FolderTrust:
    """The user's trust in the folders of one repository, as notes ask for it."""

    def __init__(self, store: TrustStore, *places: Places) -> None:
        self._store = store
        self._roots = tuple(dict.fromkeys(place.root for place in places))

    def is_trusted(self) -> bool:
        return any(self._store.is_trusted(root) for root in self._roots)

    def seal(self, what: str) -> str:
        return self._store.seal(self._roots[0], what)

    def is_sealed(self, what: str, mark: str) -> bool:
        return self._store.is_sealed(self._roots[0], what, mark)


def uses_notes(config: Config, *, no_memory: bool) -> bool:
    """Whether notes may be read and written at all."""
    return config.memory.enabled and not no_memory


def has_notes(places: Places, environ: Mapping[str, str]) -> bool:
    """Whether there is any folder of notes. Where there is none a start need load nothing of them."""
    return any(folder.is_dir() for folder in note_folders(places, environ))


def note_folders(places: Places, environ: Mapping[str, str]) -> tuple[Path, Path]:
    """Where the notes of this workspace's repository and of the user are, if there are any."""
    return project_places(places).project / MEMORY, user_folder(places, environ)


def open_notes(places: Places, environ: Mapping[str, str]) -> NoteStore:
    """The notes of this user and of this workspace's repository. Nothing is read yet."""
    from mewcode.memory.store import NoteStore

    return NoteStore([project_shelf(places), user_shelf(places, environ)])


def prompt_notes(places: Places, environ: Mapping[str, str], clock: Callable[[], float] = time.time) -> str:
    """The index as a prompt has it (see `NoteStore.prompt_text`). Where no note has changed since an earlier
    start, none of what works with notes is loaded. Raises NoteError."""
    from mewcode.infra.kept_file import KeptFile
    from mewcode.memory.kept_prompt import MOST_BYTES, KeptPrompt

    shelves = [project_shelf(places), user_shelf(places, environ)]
    caches = cache_dir(environ, home_of(environ))
    key = "\0".join(str(shelf.folder) for shelf in shelves)
    kept = KeptPrompt(shelves, KeptFile(caches / "notes", key, places.root, MOST_BYTES), clock)
    if (text := kept.find()) is not None:
        return text
    from mewcode.memory.store import NoteStore

    store = NoteStore(shelves, clock=clock)
    text = store.prompt_text()
    kept.keep(text, store.next_end())
    return text


def project_shelf(places: Places) -> Shelf:
    """The notes of this workspace's repository."""
    project = project_places(places)
    trust = None if is_own_folder(project) else FolderTrust(TrustStore(places.user), project, places)
    folder = project.project / MEMORY

    def prepare() -> None:
        is_new = not folder.is_dir()
        if trust is not None and not trust.is_trusted():
            for link in (project.project, folder):
                if link.is_symlink():
                    raise OSError(errno.ELOOP, "is a link, and this folder is not trusted", str(link))
        project_dir(project)
        private_dir(folder)
        if is_new:
            from mewcode.sessions.workspaces import remember_root

            # Without its line the workspace is missing from "everywhere"; its notes are not.
            with suppress(OSError):
                remember_root(places.user, project.root, now=time.time())

    return Shelf("project", folder, prepare, trust)
