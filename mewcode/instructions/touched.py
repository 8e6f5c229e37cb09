"""Instructions that hold from the moment at which a tool first touches a folder or a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mewcode.instructions.discover import in_folder
from mewcode.instructions.load import Document, Instructions, Loader

_HEADING = "Instructions that hold for what was just touched:"


class TouchedInstructions:
    """What each path brings, once. Reads files: not for the event loop's thread where a folder is new."""

    def __init__(self, loader: Loader, loaded: Instructions) -> None:
        self._loader = loader
        self._room = loaded.room
        self._loaded = loaded
        self._folders: set[Path] = set()
        self._paths: set[Path] = set()

    def is_new(self, paths: Iterable[Path]) -> bool:
        """Whether `reminder` has something to look at; microseconds."""
        return any(path not in self._paths for path in paths)

    def reminder(self, paths: Iterable[Path]) -> str:
        """What the model is to be told now that these resolved paths were touched; "" for nothing."""
        documents: list[Document] = []
        before = len(self._loaded.skipped)
        for path in paths:
            if path not in self._paths:
                self._paths.add(path)
                documents += self._of_folders(path)
                documents += self._of_rules(path)
        sections = [section for document in documents if (section := document.section())]
        sections += [skipped.comment() for skipped in self._loaded.skipped[before:]]
        return "\n\n".join([_HEADING, *sections]) if sections else ""

    def _of_folders(self, path: Path) -> list[Document]:
        """The files of the folders between the working folder and ``path``, the nearest first."""
        places = self._loader.places
        documents: list[Document] = []
        for folder in (path, *path.parents):
            if folder == places.cwd or not folder.is_relative_to(places.cwd):
                break
            if folder not in self._folders:
                self._folders.add(folder)
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
                document, self._room = self._loader.place(waiting.file, waiting.top, self._room)
                documents.append(document)
        return documents
