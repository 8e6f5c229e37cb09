"""Which rows answer a question best: FTS5's BM25 gives candidates, and these are weighed term by term.

FTS5 adds up all that a term may stand as; here the best of it counts once. What it costs to rank grows with
the rows that hold a word (about a microsecond each), so common words are left out where rarer ones are there.
Equal scores are ordered by id: the order in which rows came says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection

import msgspec

from mewcode.memory.recall.question import Term, Worth
from mewcode.memory.recall.tables import (
    FIELDS,
    beginning,
    length_of,
    totals,
    unpacked,
    weighed_rows,
)
from mewcode.memory.recall.values import Collection, Damaged, Hit, Passage

_COMMON_SHARE = 50
"""A word in more than one row of so many says little: two percent."""
_FEW = 500
"""Rows that are quickly ranked, whatever their share."""
_MANY = 8_000
"""Rows of a word that take a millisecond or two to count; with more it is common, whatever its share."""
_MOST_RANKED = 5_000
"""Rows that a question may have ranked, each counted for each word it holds: some 10 ms."""
_MOST_RANKED_SHARE = 20
"""The same of a large index: one in so many, some 100 ms at a million."""
_MOST_WORDS = 20
"""Words of a question that are ranked by, the rarest first."""
_MOST_COMMON = 8
"""Common words of a question that are told apart by how common they are."""
_CANDIDATES = 48
"""Rows that are weighed, and those that BM25 finds as good as the last of them, up to four times that."""
_UNKNOWN = 0.5
"""How much a term counts that no row holds in any way, of the rarest that one could."""
_COUNTED_TERMS = 12
"""Terms that a text can be expected to hold of a question, however long that is: the rarest."""
_BAR = 0.3
"""The score that hardly any note reached of those that answer nothing, on one half of
``evals/recall-notes.json``."""
_BAR_OF_BOTH = 0.6
_LEAST_LIKENESS = 0.78
"""The same where meaning was asked as well: the score, and the cosine."""


class _Manner(msgspec.Struct, frozen=True):
    """How the texts of a collection are weighed. ``saturation`` and ``by_length``: how much more a word says
    that stands there twice, and how much less in a long text (BM25's k1 and b). ``weak``: how much a word
    counts that is common in the language, of what it would by how rare it is here: among few texts even such
    a word may be rare. ``company``: how much counts what else of the same source answers, beside the text
    itself."""

    worth: Worth
    saturation: float
    by_length: float
    weak: float
    company: float = 0.0


_ENTRY = _Manner(Worth(meaning=0.9, topic=0.35, parts=0.4), saturation=1.2, by_length=0.5, weak=0.8)
"""Chosen on one half of ``evals/recall-notes.json``."""
_TURN = _Manner(
    Worth(meaning=0.6, topic=0.15, parts=0.4), saturation=0.8, by_length=0.15, weak=0.8, company=0.45
)
"""Chosen on the first five of the ten conversations of LoCoMo."""
_MANNERS: dict[Collection, _Manner] = {"notes": _ENTRY, "exchanges": _TURN, "documents": _ENTRY}
_COMPANY = 5
"""The best so many texts of a source say how much of it answers."""


class _Word(msgspec.Struct, frozen=True):
    """A word of the question with how rare it is, and the rows that hold it, counted no further than the
    limit of common words."""

    text: str
    rows: int
    rarity: float

    @property
    def match(self) -> str:
        """The word in the language of FTS5."""
        return f'"{self.text}"'


def rank(
    connection: Connection, collections: Iterable[Collection], terms: Sequence[Term], limit: int
) -> list[Hit]:
    """The best rows of these collections, at most ``limit`` of each, in no order. Raises sqlite3.Error,
    Damaged."""
    found = []
    for name in collections:
        weighing = Weighing(connection, name, terms)
        found += best_of(with_company(weighing.weigh(weighing.best(limit)), name), limit)
    return found


def with_company(hits: Sequence[Hit], collection: Collection) -> list[Hit]:
    """The hits of a collection, where it matters the higher the more else of their source answers."""
    share = _MANNERS[collection].company
    if not share:
        return list(hits)
    scores: dict[str, list[float]] = {}
    for hit in hits:
        scores.setdefault(hit.source, []).append(hit.score)
    company = {source: sum(sorted(found)[-_COMPANY:]) / _COMPANY for source, found in scores.items()}
    return [
        msgspec.structs.replace(hit, score=(hit.score + share * company[hit.source]) / (1 + share))
        for hit in hits
    ]


def best_of(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """The best of them, the very best first."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.collection, hit.id))[:limit]


class Weighing:
    """A question before a collection. All of it raises sqlite3.Error, Damaged."""

    def __init__(self, connection: Connection, collection: Collection, terms: Sequence[Term]) -> None:
        self._connection = connection
        self._collection = collection
        self._rows, self._length = totals(connection, collection)
        self._most = min(max(self._rows // _COMMON_SHARE, _FEW), _MANY)
        texts = dict.fromkeys(word for term in terms for word in term.words)
        self._words = {
            text: _look_up(connection, collection, text, self._rows, self._most)
            for text in texts
            if self._rows
        }
        self._terms = terms
        self._manner = _MANNERS[collection]

    def best(self, limit: int) -> list[int]:
        """Rows in no order, among them the best ``limit``."""
        room = max(_MOST_RANKED, self._rows // _MOST_RANKED_SHARE)
        chosen = _choose(self._connection, self._collection, self._words.values(), room, self._most)
        if not chosen:
            return []
        return _candidates(self._connection, self._collection, chosen, max(limit, _CANDIDATES), room)

    def weigh(self, found: Sequence[int]) -> list[Hit]:
        """These rows, those of them that are still there."""
        if not found or not self._rows:
            return []
        weights = {term: _weight(term, self._words, self._manner.weak) for term in self._terms}
        whole = sum(sorted(weights.values())[-_COUNTED_TERMS:])
        manner = self._manner
        shares = _Shares({term: weight / whole for term, weight in weights.items()}, manner.worth)
        average = max(self._length, 1) / self._rows
        hits = []
        for name, id_, number, start, when, packed, shown, packed_before in weighed_rows(
            self._connection, self._collection, found
        ):
            fields = unpacked(packed)
            longer = length_of(fields) / average - 1
            room = manner.saturation * (1 + manner.by_length * longer)
            counts: dict[str, float] = {}
            for field, weight in zip(fields, FIELDS[self._collection].values(), strict=False):
                shares.count(counts, field.split(" "), weight)
            if packed_before:
                shares.count(counts, beginning(packed_before), FIELDS["exchanges"]["before"])
            hits.append(
                Hit(
                    self._collection,
                    id_,
                    name,
                    shares.strength(counts, room),
                    number,
                    start,
                    when,
                    _passage(shown),
                )
            )
        return hits


def clears(hit: Hit) -> bool:
    """Whether a hit is good enough to be put before a model that did not ask for it."""
    if hit.likeness:
        return hit.score >= _BAR_OF_BOTH and hit.likeness >= _LEAST_LIKENESS
    return hit.score >= _BAR


def _look_up(connection: Connection, collection: Collection, text: str, rows: int, most: int) -> _Word:
    holding = _count(connection, collection, text, most + 1)
    return _Word(text, holding, math.log(1 + (rows - holding + 0.5) / (holding + 0.5)))


def _choose(
    connection: Connection, collection: Collection, words: Iterable[_Word], room: int, most: int
) -> list[_Word]:
    """The words to rank by: the rare ones, where there are some, as many as there is room for; else the least
    common."""
    there = [word for word in words if word.rows]
    found = [word for word in there if word.rows <= most]
    if not found:
        # Long words tend to be the rarer ones.
        there.sort(key=lambda word: (-len(word.text), word.text))
        found = [
            msgspec.structs.replace(word, rows=_count(connection, collection, word.text, room + 1))
            for word in there[:_MOST_COMMON]
        ]
    chosen: list[_Word] = []
    for word in sorted(found, key=lambda word: (word.rows, word.text))[:_MOST_WORDS]:
        room -= word.rows
        if chosen and room < 0:
            break
        chosen.append(word)
    return chosen


def _count(connection: Connection, collection: Collection, text: str, most: int) -> int:
    """Rows that hold a word, counted no further than ``most``."""
    found = connection.execute(
        f"SELECT count(*) FROM (SELECT rowid FROM {collection}_words"  # noqa: S608 - one of three names
        f" WHERE {collection}_words MATCH ? LIMIT ?)",
        (f'"{text}"', most),
    )
    return int(found.fetchone()[0])


def _candidates(
    connection: Connection, collection: Collection, chosen: Sequence[_Word], count: int, room: int
) -> list[int]:
    """The best rows by BM25: ``count``, where there are so many, and all that are as good as the last of
    these."""
    table = f"{collection}_words"
    if chosen[0].rows > room:
        # To rank them takes too long, and would tell hardly more than which came last.
        match = " AND ".join(word.match for word in chosen)
        found = connection.execute(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?",  # noqa: S608
            (match, count),
        )
        return [row for (row,) in found]
    match = " OR ".join(word.match for word in chosen)
    rows = connection.execute(
        f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?",  # noqa: S608
        (match, 4 * count),
    ).fetchall()
    # The best are the lowest.
    return [row for row, score in rows if score <= rows[min(count, len(rows)) - 1][1]]


def _weight(term: Term, words: Mapping[str, _Word], weak: float) -> float:
    """How much a term says: as much as the rarest word that it may stand as, of those that are there.
    ``weak``: see `_Manner`."""
    worth = weak if term.is_weak else 1.0
    for way in (term.exact, term.meanings, term.topics, term.parts):
        there = [words[text].rarity for text in way if words[text].rows]
        if there:
            return worth * max(there)
    return worth * _UNKNOWN * max(words[text].rarity for text in term.exact)


class _Shares:
    """The terms of a question with the share that each has in all of it, before one text after the other."""

    def __init__(self, shares: Mapping[Term, float], worth: Worth) -> None:
        self._shares = list(shares.items())
        self._worth = worth
        self._numbers: dict[str, list[int]] = {}
        for number, (term, _) in enumerate(self._shares):
            for word in term.words:
                self._numbers.setdefault(word, []).append(number)
        self._words = frozenset(self._numbers)

    def count(self, counts: dict[str, float], field: list[str], weight: float) -> None:
        """Adds how often each word stands in a field, in one of more weight more often."""
        for word in self._words.intersection(field):
            counts[word] = counts.get(word, 0.0) + weight * field.count(word)

    def strength(self, counts: Mapping[str, float], room: float) -> float:
        """How much of the question a text holds, by how often each word stands there."""
        held = sorted({number for word in counts for number in self._numbers[word]})  # sums depend on it
        terms = [self._shares[number] for number in held]
        return sum(share * term.strength_in(counts, room, self._worth) for term, share in terms)


def _passage(shown: bytes) -> Passage | None:
    if not shown:
        return None
    try:
        return msgspec.json.decode(shown, type=Passage)
    except ValueError as error:
        raise Damaged(f"the index is damaged: {error}") from error
