"""Joins the knowledge base with the config and with what git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.config.schema import Config
from mewcode.infra.paths import Places, home_of

if TYPE_CHECKING:
    from mewcode.memory.knowledge.base import KnowledgeBase
    from mewcode.memory.knowledge.documents import Found
    from mewcode.memory.recall.engine import Engine


def document_path(text: str, places: Places, environ: Mapping[str, str], start: Path | None = None) -> Path:
    """What a path of the config means, absolute: a relative one counts from the workspace's root, or from
    ``start``; ``~`` is the user's home."""
    if text == "~" or text.startswith("~/"):
        text = f"{home_of(environ)}{text[1:]}"
    return Path(os.path.abspath((start or places.root) / text))


def open_knowledge(
    engine: Engine, config: Config, places: Places, environ: Mapping[str, str]
) -> KnowledgeBase:
    """The documents that the config names. Nothing is read yet."""
    from mewcode.memory.knowledge.base import KnowledgeBase

    paths = dict.fromkeys(document_path(text, places, environ) for text in config.knowledge.paths)
    return KnowledgeBase(engine, tuple(paths), places.root, _files)


def documents_in(path: Path, places: Places) -> Found:
    """The documents of one path, without reading them."""
    from mewcode.memory.knowledge.documents import find_documents

    return find_documents([path], places.root, _files)


def _files(folder: Path) -> Iterator[str]:
    from mewcode.tools.gitignore import walk

    return walk(folder, hidden=False)
