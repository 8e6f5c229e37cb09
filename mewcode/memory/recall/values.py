"""What recall is given and what it gives."""

from __future__ import annotations

from typing import Literal

import msgspec

Collection = Literal["notes", "exchanges", "documents"]
COLLECTIONS: tuple[Collection, ...] = ("notes", "exchanges", "documents")


class Damaged(Exception):
    """A row is not what was written. SQLite itself does not see that."""


class NoteText(msgspec.Struct, frozen=True):
    """What a note is found by. ``id``: ``<level>/<file>``."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    body: str = ""


class Turn(msgspec.Struct, frozen=True):
    """A user's message and what came of it. ``number``: see the archive. ``start``: where its first record
    begins in the file, in bytes. ``when``: Unix time, 0 where it is not known."""

    number: int
    text: str
    start: int = 0
    when: float = 0.0


class Reading(msgspec.Struct, frozen=True):
    """A piece of an archive. ``turns`` come after the first ``kept`` ones of the session, in place of any
    that are known beyond these. ``state``: what the next reading goes on from; ``is_all``: there is no more
    to read at present."""

    turns: tuple[Turn, ...]
    kept: int
    state: bytes
    is_all: bool


class Passage(msgspec.Struct, frozen=True):
    """A piece of a document under one heading. ``id`` is unique among all passages; ``path`` is as it is to
    be shown; ``line`` counts from 1."""

    id: str
    title: str
    path: str
    heading: str
    line: int
    text: str


class Hit(msgspec.Struct, frozen=True):
    """``id``: of the note (`NoteText.id`), the turn (``<session>/<number>``) or the passage. ``source``: the
    note, session or document that it belongs to. ``score``: how well it answers, near 1 at best, comparable
    between collections. ``number``, ``start``, ``when``: see `Turn`; of a passage ``number`` is its line.
    ``likeness``: the cosine of meaning, where that was asked as well: the score then counts both, and may be
    below 0."""

    collection: Collection
    id: str
    source: str
    score: float
    number: int = 0
    start: int = 0
    when: float = 0.0
    passage: Passage | None = None
    likeness: float = 0.0
