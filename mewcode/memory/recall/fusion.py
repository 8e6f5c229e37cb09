"""What words and vectors find, as one answer: both figures of a row are added up.

For turns, which say less each, the vector of a turn and of it with the one before count the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING

import msgspec

from mewcode.memory.recall.question import Term
from mewcode.memory.recall.ranking import Weighing, best_of, with_company
from mewcode.memory.recall.semantic_space import Space, nearest
from mewcode.memory.recall.semantic_worker import Asked
from mewcode.memory.recall.values import Collection, Hit

if TYPE_CHECKING:
    from mewcode.memory.recall.semantic import Vector
    from mewcode.memory.recall.semantic_space import Floats

_WORTH_OF_NEARNESS: dict[Collection, float] = {"notes": 0.1, "documents": 0.1, "exchanges": 0.06}
"""What a standard deviation of the cosine adds to a score by words. Chosen on one half of
``evals/recall-notes.json``, that of turns on the first five of the ten conversations of LoCoMo."""
_DIGITS = 5
"""Of a figure; what is beyond depends on the order of additions."""


def rank_by_both(
    asked: Asked,
    until: float,
    connection: Connection,
    collections: Iterable[Collection],
    terms: Sequence[Term],
    limit: int,
) -> list[Hit]:
    """The best rows of these collections, at most ``limit`` of each, in no order. ``until``: how long the
    question's vector is waited for (`time.monotonic`). Raises sqlite3.Error, Damaged."""
    by_words = []
    for name in collections:  # meanwhile the question is made a vector
        weighing = Weighing(connection, name, terms)
        rows = weighing.best(limit)
        by_words.append((name, weighing, rows, weighing.weigh(rows)))
    vector = asked.vector(until)
    found = []
    for name, weighing, rows, hits in by_words:
        if vector is not None:
            hits = _with_vectors(asked, vector, name, weighing, rows, hits, limit)
        found += best_of(with_company(hits, name), limit)
    return found


def _with_vectors(
    asked: Asked,
    vector: Vector,
    collection: Collection,
    weighing: Weighing,
    rows: Sequence[int],
    hits: Sequence[Hit],
    limit: int,
) -> list[Hit]:
    """What words have found, and what else is near the question."""
    space = asked.spaces[collection]
    cosines = space.cosines(vector)
    near = space.with_before(cosines) if collection == "exchanges" else cosines
    standing = space.standing(near, asked.script)
    others = {space.rows[number] for number in nearest(standing, limit)}.difference(rows)
    worth = _WORTH_OF_NEARNESS[collection]
    return [
        _with_both(hit, space, cosines, standing, worth) for hit in (*hits, *weighing.weigh(sorted(others)))
    ]


def _with_both(hit: Hit, space: Space, cosines: Floats, standing: Floats, worth: float) -> Hit:
    number = space.number(hit.id)
    if number is None:  # it waits for its vector: as if that were like most
        return hit
    score = round(hit.score + worth * float(standing[number]), _DIGITS)
    return msgspec.structs.replace(hit, score=score, likeness=round(float(cosines[number]), _DIGITS))
