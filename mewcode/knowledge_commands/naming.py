"""`add` and `remove`: which files and folders are searched, kept in the project's ``config.local.yaml``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mewcode.config.edit import change_local, with_item, without_item
from mewcode.core.errors import ConfigError, UsageError
from mewcode.infra.terminal_text import safe_line
from mewcode.knowledge_commands.context import Context
from mewcode.knowledge_source import document_path
from mewcode.memory.answers.view import Answer
from mewcode.memory.knowledge.documents import kind_of


def add(context: Context) -> Answer:
    """What is typed counts from the folder worked in; what is kept, from the workspace's root."""
    paths = [_typed(context, word) for word in context.words]
    for path, word in zip(paths, context.words, strict=True):
        _check(path, word)
    known = {_meant(context, text) for text in context.loaded.config.knowledge.paths}
    done = []
    for path in dict.fromkeys(paths):
        text = _as_kept(context, path)
        is_new = path not in known and _change(context, with_item, text)
        done.append((text, is_new))
    value = [{"path": text, "added": is_new} for text, is_new in done]
    lines = tuple(f"{'added' if is_new else 'there already'}: {safe_line(text)}" for text, is_new in done)
    return Answer(value, lines, hint="sessions that begin from now on can search it")


def remove(context: Context) -> Answer:
    """What is named as it is kept, or as `add` takes it. Raises ConfigError for what stands elsewhere."""
    config = context.loaded.config
    kept = list(config.knowledge.paths)
    removed = []
    for word in context.words:
        wanted = _typed(context, word)
        found = [text for text in kept if text == word or _meant(context, text) == wanted]
        if not found:
            raise UsageError(f"{safe_line(word)} is none of the paths", "See them: mewcode knowledge list")
        for text in dict.fromkeys(found):
            changed = _change(context, without_item, text)
            if not changed:
                place = config.origin(f"knowledge.paths.{kept.index(text)}")
                raise ConfigError(f"{safe_line(text)} is set in the {place}", "Remove it there.")
            removed.append(text)
    return Answer(
        [{"path": text} for text in removed], tuple(f"removed: {safe_line(text)}" for text in removed)
    )


def _change(context: Context, change: Callable[[bytes, tuple[str, str], str, str], bytes], text: str) -> bool:
    """Whether that changed the file. Raises ConfigError."""
    return change_local(
        context.places, context.trust, lambda old, shown: change(old, ("knowledge", "paths"), text, shown)
    )


def _typed(context: Context, word: str) -> Path:
    return document_path(word, context.places, context.environ, start=context.places.cwd)


def _meant(context: Context, text: str) -> Path:
    return document_path(text, context.places, context.environ)


def _check(path: Path, word: str) -> None:
    """Raises UsageError for what holds no document."""
    try:
        if not path.exists():
            raise UsageError(f"there is no {safe_line(word)}", "Name a file or folder that is there.")
        if not path.is_dir() and not kind_of(path.name):
            raise UsageError(
                f"{safe_line(word)} is no document that can be read",
                "Name a folder, or Markdown, text, reStructuredText, HTML, PDF, JSON, CSV or Python.",
            )
    except OSError as error:
        raise UsageError(f"{safe_line(word)} cannot be looked at: {error.strerror}") from error


def _as_kept(context: Context, path: Path) -> str:
    """Relative to the root, or to the user's home, where it lies there."""
    if path.is_relative_to(context.places.root):
        return path.relative_to(context.places.root).as_posix()
    home = context.environ.get("HOME")
    if home and home != "/" and path.is_relative_to(home):
        return f"~/{path.relative_to(home).as_posix()}"
    return os.fspath(path)


COMMANDS = {"add": add, "remove": remove}
