"""A session as JSON: every record that the file holds, as it stands there, with what labels add up to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mewcode.core.codec import decode_json
from mewcode.core.errors import SessionError
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.export_facts import SessionFacts
from mewcode.sessions.plain import number
from mewcode.sessions.record import LABEL_TYPES, rewind_record
from mewcode.sessions.record_files import BOM, RecordFiles
from mewcode.sessions.salvage import salvage_pieces

FORMAT = "mewcode-session"
VERSION = 1
_SHORT = 500
"""Values longer than this are text and no password."""


def as_json(entry: SessionFacts, clean: Callable[[str], str]) -> str:
    """``{"format", "version", "id", "title", "tags", "pinned", "updated", "records"}``, indented.

    A fork's records begin with its own session record, then what it continues, then a rewind to where it left
    that. ``clean`` is applied to all text. Fields that this version does not know are kept. Raises
    SessionError.
    """
    try:
        with RecordFiles.open(entry.path) as files:
            records = _records(files)
    except OSError as error:
        raise SessionError(
            f"Session {entry.id} cannot be read: {error.strerror or error} ({entry.path / CONVERSATION})"
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


def _records(files: RecordFiles) -> list[dict[str, Any]]:
    """What the files hold, as one file would. Raises OSError."""
    own = [value for _, line in files.own.lines(files.own.start) for value in _values(line)]
    if not files.is_fork:
        return own
    session = files.session
    before = [
        value for part in files.parts[:-1] for _, line in part.lines(part.start) for value in _values(line)
    ]
    # who that was, and how it was called, says nothing about the fork
    kept = [value for value in before if value.get("type") not in {"session", *LABEL_TYPES}]
    left = rewind_record("left", ts=number(session.get("ts")), to=session.get("message"), before=None)
    first = {name: value for name, value in session.items() if name not in ("bases", "message")}
    return [first, *kept, left, *(value for value in own if value != session)]


def _values(line: bytes) -> list[dict[str, Any]]:
    try:
        value = decode_json(line.removeprefix(BOM))
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
