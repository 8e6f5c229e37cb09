"""Which of two notes counts more, and what one becomes that is told twice."""

from __future__ import annotations

import msgspec

from mewcode.infra.redact import redact
from mewcode.memory.dates import time_of, time_text
from mewcode.memory.entry import Entry
from mewcode.memory.names import one_line
from mewcode.memory.note import RANKS, Note, Origin, clean_body

_CONFIDENCE: dict[Origin, float] = {"user": 1.0, "agent": 0.7, "tool": 0.5, "web": 0.5}
"""What counts where nobody said how sure it is."""
MOST_WORDS = 24
"""Tags, and aliases, of a note at most."""


def prepared(note: Note, now: float) -> Note:
    """The note as it is kept: without secrets, one line where there is one, dates set, no more words than are
    of use."""
    moment = time_text(now)
    note = without_secrets(note)
    return msgspec.structs.replace(
        note,
        name=one_line(note.name),
        description=one_line(note.description),
        body=clean_body(note.body),
        tags=_words(note.tags),
        aliases=_words(note.aliases),
        source=_words(note.source),
        created=note.created or moment,
        updated=note.updated or moment,
    )


def without_secrets(note: Note) -> Note:
    """The note with every secret blacked out."""
    return msgspec.structs.replace(
        note,
        name=redact(note.name),
        description=redact(note.description),
        body=redact(note.body),
        tags=tuple(map(redact, note.tags)),
        aliases=tuple(map(redact, note.aliases)),
        source=tuple(map(redact, note.source)),
    )


def _words(words: tuple[str, ...]) -> tuple[str, ...]:
    found = (one_line(word, 120) for word in words)
    return tuple(dict.fromkeys(word for word in found if word))[:MOST_WORDS]


def origin_of(entry: Entry) -> Origin:
    """Whose word a note is: what a person wrote into its file is theirs, whatever its head says."""
    return "user" if entry.by_hand else entry.origin


def is_weaker_origin(origin: Origin, entry: Entry) -> bool:
    """Whether a word of that origin counts less than the note."""
    return RANKS[origin] < RANKS[origin_of(entry)]


def wins(note: Note, entry: Entry, now: float) -> bool:
    """Whether a new note closes one that it contradicts: by origin, then by confidence, then by time."""
    old = origin_of(entry)
    return _strength(note.origin, note.confidence, note.updated, now) >= _strength(
        old, entry.confidence, entry.updated, now
    )


def _strength(origin: Origin, confidence: float | None, updated: str, now: float) -> tuple[int, float, int]:
    sure = _CONFIDENCE[origin] if confidence is None else confidence
    return RANKS[origin], sure, min(int(time_of(updated) or 0), int(now))


def merged(old: Note, new: Note, *, is_expired: bool, now: float) -> Note:
    """The old note with what the new one says of the same. A description goes with its body; words are
    joined; equal to ``old`` where nothing is new."""
    description = new.description or ("" if new.body and new.body != old.body else old.description)
    note = msgspec.structs.replace(
        old,
        body=new.body or old.body,
        description=description,
        tags=_words((*old.tags, *new.tags)),
        aliases=_words((*old.aliases, *new.aliases)),
        source=_words((*new.source, *old.source)),
        valid_from=new.valid_from or old.valid_from,
        valid_to=new.valid_to if is_expired else new.valid_to or old.valid_to,
        confidence=old.confidence if new.confidence is None else new.confidence,
        origin=new.origin if RANKS[new.origin] >= RANKS[old.origin] else old.origin,
        pinned=new.pinned or old.pinned,
    )
    return old if note == old else msgspec.structs.replace(note, updated=time_text(now))
