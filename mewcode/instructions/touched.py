"""Instructions that hold from the moment at which a tool first touches a folder or a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from mewcode.instructions.discover import folders_down_to, in_folder
from mewcode.instructions.load import Document, Instructions, Loader
from mewcode.instructions.reminders import TOUCHED
from mewcode.instructions.trace import Trace


class TouchedInstructions:
    """What each path brings, once. Reads files: not for the event loop's thread where a folder is new.

    ``documents``: what was found so far. ``folders``: those that were looked into. ``traces``: of what was
    read for them.
    """

    def __init__(self, loader: Loader, loaded: Instructions) -> None:
        self.documents: list[Document] = []
        self.folders: dict[Path, None] = {}
        self._loader = loader
        self._room = loaded.room
        self._loaded = loaded
        self._paths: dict[Path, None] = {}

    @property
    def traces(self) -> list[Trace]:
        return self._loader.traces[1:]

    @property
    def paths(self) -> tuple[Path, ...]:
        """What was touched, in order."""
        return tuple(self._paths)

    def is_new(self, paths: Iterable[Path]) -> bool:
        """Whether `read` has something to look at; microseconds."""
        return any(path not in self._paths for path in paths)

    def read(self, paths: Iterable[Path]) -> list[Document]:
        """What these resolved paths bring that no other has brought."""
        documents: list[Document] = []
        for path in paths:
            if path not in self._paths:
                self._paths[path] = None
                documents += self._of_folders(path)
                documents += self._of_rules(path)
        self.documents += documents
        return documents

    def reminder(self, paths: Iterable[Path], told: Collection[str] = ()) -> str:
        """What the model is to be told now that these resolved paths were touched; "" for nothing. ``told``:
        what it was told already, in this run or an earlier one."""
        before = len(self._loaded.skipped)
        found = [section for document in self.read(paths) if (section := document.section())]
        found += [skipped.comment() for skipped in self._loaded.skipped[before:]]
        new = [section for section in found if not any(section in text for text in told)]
        return "\n\n".join([TOUCHED, *new]) if new else ""

    def _of_folders(self, path: Path) -> list[Document]:
        """The files of the folders between the working folder and ``path``, the nearest first."""
        places = self._loader.places
        documents: list[Document] = []
        for folder in folders_down_to(path, places):
            if folder not in self.folders:
                self.folders[folder] = None
                found, self._room = self._loader.read(in_folder(folder, places), self._room)
                documents += found
        return documents

    def _of_rules(self, path: Path) -> list[Document]:
        documents: list[Document] = []
        for waiting in list(self._loaded.waiting):
            if path.is_relative_to(waiting.base) and waiting.rule.holds_for(
                path.relative_to(waiting.base).as_posix()
            ):
                self._loaded.waiting.remove(waiting)
                document, self._room = self._loader.place(waiting, self._room)
                documents.append(document)
        return documents
