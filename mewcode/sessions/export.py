"""A session as a file that others can read: Markdown, JSON or one HTML page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from mewcode.core.errors import SessionError
from mewcode.core.ids import new_id
from mewcode.infra.atomic import temporary_name, write_all
from mewcode.sessions.export_facts import SessionFacts
from mewcode.sessions.export_html import as_html
from mewcode.sessions.export_json import as_json
from mewcode.sessions.export_markdown import as_markdown
from mewcode.sessions.plain import local_time

Kind = Literal["markdown", "json", "html"]
Clean = Callable[[str], str]

SUFFIXES: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
}
"""What a file's name says of the form."""
_NAME_LENGTH = 60
"""Characters of a title that become part of a file's name."""
_FORMS: dict[Kind, Callable[[SessionFacts, Clean], str]] = {
    "markdown": as_markdown,
    "json": as_json,
    "html": as_html,
}


def kind_of(path: Path) -> Kind:
    """The form that a file's name asks for. Raises SessionError for a suffix of no form."""
    if not path.suffix:
        return "markdown"
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise SessionError(
            f"{path.name}: there is no export as {path.suffix}", f"Use one of {', '.join(SUFFIXES)}."
        )
    return kind


def exported(facts: SessionFacts, kind: Kind, clean: Clean) -> str:
    """The session in that form; ``clean`` is applied to all text. Raises SessionError."""
    return _FORMS[kind](facts, clean)


def check_target(target: Path) -> None:
    """For before the work: raises SessionError where `write_export` would find a file, or no folder."""
    if os.path.lexists(target):
        raise _exists(target)
    if not target.parent.is_dir():
        raise SessionError(f"{target} cannot be written: there is no folder {target.parent}")


def _exists(target: Path) -> SessionError:
    return SessionError(f"{target} exists.", "Name another file, or remove that one.")


def write_export(target: Path, text: str) -> int:
    """Writes a new file (0600) and returns its bytes. Raises SessionError, also where there is one: an
    existing file is never replaced."""
    data = text.encode("utf-8", "backslashreplace")
    temporary = target.with_name(temporary_name(target.name))
    try:
        if os.path.lexists(target):
            raise FileExistsError
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _place(temporary, target)
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise SessionError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return len(data)


def _place(temporary: Path, target: Path) -> None:
    """Gives the file its name, which none may bear. Raises FileExistsError."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.rename(temporary, target)


def free_name(folder: Path, facts: SessionFacts, clean: Clean) -> Path:
    """A Markdown file in ``folder`` that is not there yet, named for the day and the title, to which
    ``clean`` is applied."""
    day = local_time(facts.updated, "%Y-%m-%d")
    kept = "".join(char if char.isalnum() else "-" for char in clean(facts.title)[:_NAME_LENGTH].lower())
    words = "-".join(filter(None, kept.split("-")))
    stem = "-".join(filter(None, (day, words or facts.id)))
    for number in range(1, 1000):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        # A name of 60 characters can be longer in bytes than a file's may be.
        if len(path.name.encode()) <= 255 and not os.path.lexists(path):
            return path
    return folder / f"{day}-{facts.id}-{new_id(6)}.md"
