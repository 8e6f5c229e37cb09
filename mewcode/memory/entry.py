"""What is known of each note without reading its file: the index as a value, kept in a file as a cache.

An entry counts as long as its file has the time of change, the size and the inode that it had when it was
read. What came with a repository cannot foretell these: a cache that came with it matches no file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from mewcode.infra.atomic import write_atomic
from mewcode.memory.dates import time_of
from mewcode.memory.names import identity
from mewcode.memory.note import Level, Note, Origin, Type
from mewcode.memory.paths import INBOX

CACHE = ".index.json"
VERSION = 1
MOST_CORE = 8_000
"""Bytes of all core rules together."""
MOST_DESCRIPTION = 200
"""Bytes of a description in an index."""
MOST_FIRST_LINE = 80
"""Bytes of the body's first line where there is no description."""
_MARKS = r"\A(?:[#>\s]+|[-*+]\s)*"
"""What a heading, a quotation or an item of a list begins with; not what is set in bold."""
_SURE_AFTER = 50_000_000
"""Nanoseconds after a change in which another might leave the same time of change."""
_SURE_AFTER_COARSE = 2_000_000_000
"""The same where the file system counts in seconds."""

State = Literal["live", "expired", "superseded", "inbox", "archived"]


Signature = tuple[int, int, int]
"""What tells that a file is as it was: time of change in nanoseconds, size, inode."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """A note as lists show it. ``file``: relative to the level's folder. ``line``: what an index says of it.
    ``core``: its body, for what stands whole in a prompt. ``digest``: of the file's bytes. ``by_hand``: its
    wording is what a person wrote into the file. ``problem``: what is wrong with the file. All of it is
    without secrets."""

    file: str
    signature: Signature
    digest: str
    level: Level
    name: str
    type: Type
    line: str
    description: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    valid_from: str = ""
    valid_to: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    conflicts_with: str = ""
    confidence: float | None = None
    origin: Origin = "user"
    source: tuple[str, ...] = ()
    pinned: bool = False
    core: str = ""
    by_hand: bool = False
    problem: str = ""

    @property
    def identity(self) -> str:
        return identity(self.level, self.type, self.name)

    @property
    def room(self) -> str:
        """The part of the folder that it is in; "" for the notes in force."""
        return self.file.rpartition("/")[0]

    def state(self, now: float) -> State:
        """Whether the note is in force at that time."""
        if "/" in self.file:
            return "inbox" if self.room == INBOX else "archived"
        if self.superseded_by:
            return "superseded"
        if self.valid_to:
            end = time_of(self.valid_to, day_ends=True)
            if end is not None and end <= now:
                return "expired"
        return "live"


class Gone(msgspec.Struct, frozen=True, array_like=True):
    """When and by whom a note was deleted: it is not to come back by itself."""

    when: float
    by: str


class Use(msgspec.Struct, frozen=True, array_like=True):
    """How often a note was used, and when last."""

    count: int = 0
    last: float = 0.0


class Cache(msgspec.Struct, frozen=True, array_like=True):
    """``written``: when, in nanoseconds. ``gone``: by identity. ``uses``: by file, of the first ``uses_size``
    bytes of the file of uses with that inode; since ``uses_since``."""

    version: int = VERSION
    written: int = 0
    entries: list[Entry] = []
    gone: dict[str, Gone] = {}
    uses: dict[str, Use] = {}
    uses_size: int = 0
    uses_inode: int = 0
    uses_since: float = 0.0

    def still_there(self, found: Mapping[str, Signature]) -> dict[str, Entry]:
        """The entries whose files were found as they were, and cannot have changed since unseen."""
        sure, sure_if_coarse = self.written - _SURE_AFTER, self.written - _SURE_AFTER_COARSE
        same = {}
        for entry in self.entries:
            changed = entry.signature[0]
            if changed >= (sure if changed % 1_000_000_000 else sure_if_coarse):
                continue
            if found.get(entry.file) == entry.signature:
                same[entry.file] = entry
        return same


_DECODER: list[msgspec.json.Decoder[Cache]] = []


def load_cache(path: Path) -> Cache | None:
    """The cache; None where there is none that can be used."""
    if not _DECODER:
        _DECODER.append(msgspec.json.Decoder(Cache))
    try:
        cache = _DECODER[0].decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):  # it is made anew
        return None
    return cache if cache.version == VERSION else None


def save_cache(path: Path, cache: Cache) -> None:
    """Raises OSError."""
    write_atomic(path, msgspec.json.encode(cache), durable=False)


def entry_of(
    note: Note, file: str, signature: Signature, digest: str, *, by_hand: bool = False, problem: str = ""
) -> Entry:
    """The entry of a note that was read from a file."""
    from mewcode.infra.redact import find_secrets, redact  # only where a file is read

    core = note.body if note.pinned or note.type == "correction_feedback" else ""
    said = "\n".join((note.name, _line(note), note.description, *note.tags, *note.aliases, core))
    safe = redact if find_secrets(said) else _as_it_is
    return Entry(
        file,
        signature,
        digest,
        note.level,
        safe(note.name),
        note.type,
        safe(_line(note)),
        safe(note.description),
        tuple(map(safe, note.tags)),
        tuple(map(safe, note.aliases)),
        note.created,
        note.updated,
        note.valid_from,
        note.valid_to,
        note.supersedes,
        note.superseded_by,
        note.conflicts_with,
        note.confidence,
        note.origin,
        note.source,
        note.pinned,
        safe(core) if len(core.encode()) <= MOST_CORE else "",
        by_hand,
        problem,
    )


def _as_it_is(text: str) -> str:
    return text


def cut_bytes(text: str, limit: int) -> str:
    """The text, at most so many bytes of UTF-8, cut before a character with an ellipsis."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    return data[: limit - len("…".encode())].decode("utf-8", "ignore").rstrip() + "…"


def _line(note: Note) -> str:
    """The description, else the body's first line that says something."""
    from mewcode.memory.names import one_line

    if note.description:
        return cut_bytes(note.description, MOST_DESCRIPTION)
    for line in note.body.splitlines():
        said = one_line(re.sub(_MARKS, "", line))
        if said.strip("-*"):
            return cut_bytes(said, MOST_FIRST_LINE)
    return ""
