"""Which notes are worth their place: what is put at rest first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from mewcode.memory.dates import DAY, time_of
from mewcode.memory.entry import Entry, Use
from mewcode.memory.note import RANKS, Type
from mewcode.memory.rules import origin_of

LEAST_HISTORY = 60.0
"""Days of uses counted before one that is missing says anything."""
MOST_AT_ONCE = 500
"""Notes that one tidy puts at rest: the lock is held for some milliseconds for each, and others wait."""
UNUSED = 180.0
"""Days without a use, and without a change, after which a note rests that nobody asked for."""
_HALF_LIFE = 90.0
_TYPES: dict[Type, float] = {
    "correction_feedback": 3.0,
    "user_preference": 2.5,
    "project_knowledge": 1.5,
    "reference_material": 1.0,
}
_BY_SEARCH = ("project_knowledge", "reference_material")
"""Types that serve when they are looked up. The others do where they stand, in each prompt, uncounted."""


class Counted(msgspec.Struct, frozen=True):
    """A note and how it was used."""

    entry: Entry
    use: Use = Use()


def worth(item: Counted, now: float) -> float:
    """How much a note counts, by type, origin, use and age. What is pinned counts more than all else."""
    entry, use = item.entry, item.use
    if entry.pinned:
        return math.inf
    days = max(0.0, now - _last_seen(item)) / DAY
    by_age = 2.0 * math.pow(0.5, days / _HALF_LIFE)
    return _TYPES[entry.type] + 0.75 * RANKS[origin_of(entry)] + 2.0 * math.log2(1 + use.count) + by_age


def at_rest(
    items: Sequence[Counted], *, most: int, now: float, since: float, spare: frozenset[str] = frozenset()
) -> list[Entry]:
    """Those of a level's notes in force that are to rest, the least valuable first: as many as there are
    beyond ``most``, and those that nobody has used for long; `MOST_AT_ONCE` of them. ``since``: when uses
    were first counted, 0 for never; ``spare``: files that stay whatever they are worth."""
    movable = [item for item in items if not item.entry.pinned and item.entry.file not in spare]
    movable.sort(key=lambda item: (worth(item, now), item.entry.updated, item.entry.file))
    count = max(0, len(items) - most)
    chosen = movable[:count]
    if since and now - since >= LEAST_HISTORY * DAY:
        chosen += [item for item in movable[count:] if _is_unused(item, now)]
    return [item.entry for item in chosen[:MOST_AT_ONCE]]


def _is_unused(item: Counted, now: float) -> bool:
    entry = item.entry
    is_asked_for = origin_of(entry) == "user" or entry.type not in _BY_SEARCH
    return not is_asked_for and now - _last_seen(item) >= UNUSED * DAY


def _last_seen(item: Counted) -> float:
    """When the note was last used or changed."""
    changed = time_of(item.entry.updated) or time_of(item.entry.created) or 0.0
    return max(item.use.last, changed)
