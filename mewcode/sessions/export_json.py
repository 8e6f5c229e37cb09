"""A session as JSON: every record that the file holds, as it stands there, with what labels add up to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mewcode.core.codec import decode_json
from mewcode.core.errors import SessionError
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.catalog import CatalogEntry
from mewcode.sessions.reader import salvage_pieces

FORMAT = "mewcode-session"
VERSION = 1
_SHORT = 500
"""Values longer than this are text and no password."""


def as_json(entry: CatalogEntry, clean: Callable[[str], str]) -> str:
    """``{"format", "version", "id", "title", "tags", "pinned", "updated", "records"}``, indented.

    ``clean`` is applied to all text. Fields that this version does not know are kept. Raises SessionError.
    """
    path = entry.path / CONVERSATION
    records = []
    try:
        with path.open("rb") as stream:
            for line in stream:
                records += _values(line)
    except OSError as error:
        raise SessionError(
            f"Session {entry.id} cannot be read: {error.strerror or error} ({path})"
        ) from error
    value = {
        "format": FORMAT,
        "version": VERSION,
        "id": entry.id,
        "title": entry.title,
        "tags": entry.tags,
        "pinned": entry.pinned,
        "updated": entry.updated,
        "records": records,
    }
    cleaned = _cleaned(value, clean)
    return msgspec.json.format(msgspec.json.encode(cleaned), indent=2).decode() + "\n"


def _values(line: bytes) -> list[dict[str, Any]]:
    try:
        value = decode_json(line)
    except ValueError:
        return [decode_json(piece) for piece, _ in salvage_pieces(line)[0]]
    return [value] if isinstance(value, dict) else []


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    if isinstance(value, dict):
        return {clean(key): _named(key, item, clean) for key, item in value.items()}
    return value


def _named(name: str, value: Any, clean: Callable[[str], str]) -> Any:
    """A value is a secret also for its name's sake: ``{"password": "hunter2"}``."""
    if isinstance(value, str) and len(value) <= _SHORT and "\n" not in value:
        head = f"{name}: "
        both = clean(head + value)
        return both[len(head) :] if both.startswith(head) else clean(value)
    return _cleaned(value, clean)
