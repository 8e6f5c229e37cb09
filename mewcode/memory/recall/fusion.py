"""What words and vectors find, as one answer.

Of notes and documents both figures of a row are added up. Of turns, which say less each, only the places
count that they have in four orders: by words and by vectors, each for the turn and for it and the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING

import msgspec

from mewcode.memory.recall.question import Term
from mewcode.memory.recall.ranking import Weighed, Weighing, best_of
from mewcode.memory.recall.semantic_space import Space, nearest
from mewcode.memory.recall.semantic_worker import Asked
from mewcode.memory.recall.values import Collection, Hit

if TYPE_CHECKING:
    from mewcode.memory.recall.semantic import Vector
    from mewcode.memory.recall.semantic_space import Floats

_WORTH_OF_NEARNESS = 1 / 8
"""What a standard deviation of the cosine adds to a score by words. Chosen on one half of
``evals/recall-notes.json``."""
_RANK_ROOM = 10
"""The constant of reciprocal rank fusion: how little the first places differ."""
_ORDERS = 4
_DIGITS = 5
"""Of a figure; what is beyond depends on the order of additions."""


def rank_by_both(
    asked: Asked, connection: Connection, collections: Iterable[Collection], terms: Sequence[Term], limit: int
) -> list[Hit]:
    """The best rows of these collections, at most ``limit`` of each, in no order. Raises sqlite3.Error,
    Damaged."""
    by_words = []
    for name in collections:  # meanwhile the question is made a vector
        weighing = Weighing(connection, name, terms)
        rows = weighing.best(limit)
        by_words.append((name, weighing, rows, weighing.weigh(rows, with_own=name == "exchanges")))
    vector = asked.vector()
    found = []
    for name, weighing, rows, items in by_words:
        hits = [item.hit for item in items]
        if vector is not None:
            hits = _with_vectors(asked, vector, name, weighing, rows, items, limit)
        found += best_of(hits, limit)
    return found


def _with_vectors(
    asked: Asked,
    vector: Vector,
    collection: Collection,
    weighing: Weighing,
    rows: Sequence[int],
    items: Sequence[Weighed],
    limit: int,
) -> list[Hit]:
    """What words have found, and what else is near the question."""
    space, is_turns = asked.spaces[collection], collection == "exchanges"
    cosines = space.cosines(vector)
    standing = space.standing(cosines, asked.script)
    orders = [nearest(standing, limit)]
    if is_turns:
        orders.append(nearest(space.standing(space.pairs(cosines), asked.script), limit))
    others = {space.rows[number] for order in orders for number in order}.difference(rows)
    items = [
        msgspec.structs.replace(item, hit=_with_likeness(item.hit, space, cosines))
        for item in (*items, *weighing.weigh(sorted(others), with_own=is_turns))
    ]
    if is_turns:
        return _by_places(items, [[space.ids[number] for number in order] for order in orders])
    return [_added_up(item.hit, space, standing) for item in items]


def _with_likeness(hit: Hit, space: Space, cosines: Floats) -> Hit:
    number = space.number(hit.id)
    if number is None:
        return hit
    return msgspec.structs.replace(hit, likeness=round(float(cosines[number]), _DIGITS))


def _added_up(hit: Hit, space: Space, standing: Floats) -> Hit:
    number = space.number(hit.id)
    if number is None:  # it waits for its vector: as if that were like most
        return hit
    score = hit.score + _WORTH_OF_NEARNESS * float(standing[number])
    return msgspec.structs.replace(hit, score=round(score, _DIGITS))


def _by_places(items: Sequence[Weighed], by_vectors: Sequence[Sequence[str]]) -> list[Hit]:
    """The turns that have a place in one of the orders. A score of 1 is the first place in all that a turn
    can be in: without a vector it cannot be in half of them."""
    hits = {item.hit.id: item.hit for item in items}
    own = sorted((-item.own, item.hit.id) for item in items if item.own > 0)
    both = sorted((-hit.score, hit.id) for hit in hits.values() if hit.score > 0)
    points = dict.fromkeys(hits, 0.0)
    for order in ([id_ for _, id_ in own], [id_ for _, id_ in both], *by_vectors):
        for place, id_ in enumerate(order, 1):
            if id_ in points:  # else it is gone
                points[id_] += (
                    (_RANK_ROOM + 1)
                    / (_RANK_ROOM + place)
                    / (_ORDERS if hits[id_].likeness else _ORDERS - len(by_vectors))
                )
    return [msgspec.structs.replace(hits[id_], score=score) for id_, score in points.items() if score]
