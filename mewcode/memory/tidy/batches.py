"""Which notes a model is asked about, and in what company.

The cost goes with what is new, not with how many notes there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mewcode.core.tokens import text_tokens
from mewcode.memory.similar import letter_pairs
from mewcode.memory.tidy.copy import FEW_ALIASES, LONG, Item

MOST_BATCHES = 8
"""Questions of one tidy, at most."""
BATCH_TOKENS = 6_000
"""Estimated tokens of the notes in a question."""
MOST_SHOWN = 4_000
"""Bytes of a note's text that a model is shown. One that is longer is not worded anew."""
_MOST_NOTES = 40
_WANTS_NOTHING = 4
_NEAR = 0.3
_MOST_NEAR = 3
_BESIDE = 60
"""Estimated tokens around a note's own words."""
_RARE = 40
"""Pairs of letters by which a note is compared, the rarest first."""
_MOST_COMPARED = 200


def batches(items: Sequence[Item], since: float, *, everything: bool = False) -> list[tuple[Item, ...]]:
    """The notes for each question: those that changed ``since`` then, and those that want something, each
    beside the ones that are most like it; with ``everything`` then all others. At most `MOST_BATCHES`."""
    ranked = [(_rank(item, since), item) for item in items]
    ranked = [found for found in ranked if everything or found[0] < _WANTS_NOTHING]
    ranked.sort(key=lambda found: (found[0], [-ord(char) for char in found[1].note.updated], found[1].file))
    company = _Company(items)
    placed: set[str] = set()
    found: list[tuple[Item, ...]] = []
    batch: list[Item] = []
    size = 0
    for _, item in ranked:
        if item.file in placed:
            continue
        group = [other for other in (item, *company.near(item)) if other.file not in placed]
        cost = sum(map(tokens_of, group))
        if batch and (size + cost > BATCH_TOKENS or len(batch) + len(group) > _MOST_NOTES):
            found.append(tuple(batch))
            batch, size = [], 0
        if len(found) == MOST_BATCHES:
            return found
        batch += group
        size += cost
        placed |= {other.file for other in group}
    return [*found, tuple(batch)] if batch else found


def is_whole(item: Item) -> bool:
    """Whether a model is shown all of the note."""
    return item.size <= MOST_SHOWN


def tokens_of(item: Item) -> int:
    """Estimated tokens of a note in a question."""
    note = item.note
    words = (note.name, note.description, *note.aliases, note.body[:MOST_SHOWN])
    return _BESIDE + sum(map(text_tokens, words))


def _rank(item: Item, since: float) -> int:
    """What the note is looked at for, the most pressing first."""
    if item.changed_since(since):
        return 0
    if item.dead:
        return 1
    if item.size > LONG and not item.is_users:
        return 2
    return 3 if len(item.note.aliases) < FEW_ALIASES else _WANTS_NOTHING


class _Company:
    """Finds the notes that are like one, by the pairs of letters in what is said of them."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._pairs = [frozenset(letter_pairs(_said(item))) for item in items]
        self._place = {item.file: place for place, item in enumerate(items)}
        self._holders: dict[str, list[int]] = {}
        for place, pairs in enumerate(self._pairs):
            for pair in pairs:
                self._holders.setdefault(pair, []).append(place)

    def near(self, item: Item) -> list[Item]:
        """The notes most like this one, the nearest first."""
        own = self._place[item.file]
        pairs = sorted(self._pairs[own], key=lambda pair: (len(self._holders[pair]), pair))[:_RARE]
        common = Counter(
            place for pair in pairs for place in self._holders[pair][:_MOST_COMPARED] if place != own
        )
        scored = [(self._likeness(own, place), place) for place, _ in common.most_common(_MOST_NEAR * 5)]
        scored = [found for found in scored if found[0] >= _NEAR]
        scored.sort(key=lambda found: (-found[0], found[1]))
        return [self._items[place] for _, place in scored[:_MOST_NEAR]]

    def _likeness(self, one: int, other: int) -> float:
        total = len(self._pairs[one]) + len(self._pairs[other])
        return 2 * len(self._pairs[one] & self._pairs[other]) / total if total else 0.0


def _said(item: Item) -> str:
    return f"{item.note.name} {item.note.description or item.entry.line}"
