"""Finds session files of other programs, and reads one with what stands beside it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from mewcode.core.codec import decode_json
from mewcode.core.errors import SessionError
from mewcode.sessions.import_blocks import text_in
from mewcode.sessions.import_claude import read_claude
from mewcode.sessions.import_codex import read_codex
from mewcode.sessions.import_detect import kind_of
from mewcode.sessions.import_kimi import Beside, read_kimi, read_turns
from mewcode.sessions.import_own import is_export, read_export, read_records
from mewcode.sessions.import_source import Lines, Original, lines_of, open_file

USUAL_PLACES = {
    "Claude Code": "~/.claude/projects",
    "Codex CLI": "~/.codex/sessions",
    "Kimi CLI": "~/.kimi/sessions",
}
"""Where each program keeps its sessions, as its documentation says."""

_LOOKED_AT = 50
"""Lines at a file's beginning by which its kind is told."""
_HEAD = 4_096
_EXPORT_LIMIT = 512 << 20
"""Bytes of an export: it is one JSON value, so it is held in memory as a whole."""
_STATE_LIMIT = 1 << 20
_DEPTH = 8
_FILES = 20_000
"""Files of a folder that are looked at."""
_SUFFIXES = (".jsonl", ".json")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PASSED_OVER = re.compile(r"context(_sub)?_\d+\.jsonl|wire\.jsonl|base-\d+\.jsonl")
"""What lies beside a session's file in a folder, and is older than it or a part of it."""
_ASIDE = "subagents"
"""The folder in which both Claude Code and Kimi CLI keep what sub-agents did."""


def read_original(path: Path) -> Original | None:
    """The session in a file; None for a file of no kind that is known. Raises SessionError where it cannot be
    read."""
    head = _beginning(path, _HEAD)
    if is_export(head):
        return read_export(_whole(path))
    lines = Lines(lambda: lines_of(path))
    values = (value for _, value in Lines(lambda: islice(lines_of(path), _LOOKED_AT)).values())
    kind = kind_of(values)
    if kind is None:
        return None
    if kind == "kimi":
        original = read_kimi(lines, _beside(path))
    else:
        original = {"claude-code": read_claude, "codex": read_codex, "mewcode": read_records}[kind](lines)
    original.began = original.began or _changed(path)
    original.id = original.id or _content_id(path)
    return original


def session_files(folder: Path) -> Iterator[Path]:
    """The files below a folder that may hold a session, in order of their names. Links are not followed, what
    sub-agents did is left out. What cannot be read is passed over; raises SessionError where there are too
    many."""
    count = 0
    for at, folders, names in os.walk(folder):
        depth = len(Path(at).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if name != _ASIDE) if depth < _DEPTH else []
        for name in sorted(names):
            path = Path(at, name)
            if not name.endswith(_SUFFIXES) or _PASSED_OVER.fullmatch(name) or not _is_file(path):
                continue
            count += 1
            if count > _FILES:
                raise SessionError(f"{folder} holds more than {_FILES:,} files.", "Name a folder below it.")
            yield path


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.stat(path, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _beginning(path: Path, size: int) -> bytes:
    with open(open_file(path), "rb") as stream:
        return stream.read(size)


def _whole(path: Path) -> bytes:
    with open(open_file(path), "rb") as stream:
        if os.fstat(stream.fileno()).st_size > _EXPORT_LIMIT:
            raise SessionError(f"It is larger than {_EXPORT_LIMIT >> 20} MB.")
        return stream.read(_EXPORT_LIMIT)


def _changed(path: Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _content_id(path: Path) -> str:
    """An id for a session that names none: the same for the same content."""
    with open(open_file(path), "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=12)).hexdigest()


def _beside(path: Path) -> Beside:
    """What lies beside a session of Kimi CLI, where it lies in its own folder."""
    folder = path.absolute().parent
    title, turns = "", Beside().turns
    for name in ("state.json", "metadata.json"):
        if not title and _is_file(folder / name):
            title = _title_in(folder / name)
    if _is_file(folder / "wire.jsonl"):
        turns = read_turns(Lines(lambda: lines_of(folder / "wire.jsonl")))
    return Beside(folder.name if _UUID.fullmatch(folder.name) else "", title, turns, _changed(path))


def _title_in(path: Path) -> str:
    try:
        state = decode_json(_beginning(path, _STATE_LIMIT))
    except (ValueError, RecursionError):
        return ""
    return text_in(state, "custom_title") if isinstance(state, dict) else ""
