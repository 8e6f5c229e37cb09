"""What a question is about, as the index is asked for it. Pure.

A term is what one word of the question may stand as in a text: as it is, as another word of the same meaning,
or at least in parts. Words that say nothing are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from mewcode.memory.recall.concepts import concepts_of, known_words
from mewcode.memory.recall.stop_words import (
    EMPTY_CHARACTERS,
    EMPTY_PAIRS,
    FULL_PAIRS,
    STOP_STEMS,
    WEAK_CHARACTERS,
    WEAK_STEMS,
)
from mewcode.memory.recall.words import is_dense, pairs, pieces, runs, words_in

_MOST_OF_A_QUESTION = 2_000
"""Characters at both ends of a question that count: what is longer is a paste."""
_MOST_TERMS = 32
"""Terms at both ends that count."""
_SAME_MEANING = 0.9
_ALL_PARTS = 0.4
"""How much of a term stands in a text that has another word of its meaning, or only its parts. These were
chosen on one half of ``evals/recall-notes.json``."""


class Term(msgspec.Struct, frozen=True):
    """Words of the index: ``exact`` are all of the term, ``meanings`` say the same, ``parts`` are in it.
    ``is_weak``: what it says may be said of anything."""

    exact: tuple[str, ...]
    meanings: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    is_weak: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.exact, *self.meanings, *self.parts)

    def strength_in(self, counts: Mapping[str, float], room: float) -> float:
        """How well a text holds the term, 0 to 1, by how often each word stands there. ``room``: how often a
        word is to stand there for half its worth."""
        best = 1.0
        for word in self.exact:
            count = counts.get(word, 0.0)
            best = min(best, count / (count + room)) if count else 0.0
        if self.meanings:
            count = max(counts.get(word, 0.0) for word in self.meanings)
            best = max(best, _SAME_MEANING * count / (count + room)) if count else best
        if self.parts:
            there = (count for word in self.parts if (count := counts.get(word, 0.0)))
            best = max(best, _ALL_PARTS * sum(count / (count + room) for count in there) / len(self.parts))
        return best


def read_question(text: str) -> list[Term]:
    """The terms of a question, each once, in its order. Where nothing else is said, empty words count."""
    if len(text) > 2 * _MOST_OF_A_QUESTION:
        text = f"{text[:_MOST_OF_A_QUESTION]} {text[-_MOST_OF_A_QUESTION:]}"
    said: dict[Term, None] = {}
    empty: dict[Term, None] = {}
    for piece in pieces(text):
        for term, is_empty in _dense_terms(piece) if is_dense(piece) else _terms(piece):
            (empty if is_empty else said)[term] = None
    terms = list(said or empty)
    return terms if len(terms) <= 2 * _MOST_TERMS else terms[:_MOST_TERMS] + terms[-_MOST_TERMS:]


def _terms(piece: str) -> Iterator[tuple[Term, bool]]:
    for run in runs(piece):
        words = words_in(run)
        if words:
            *parts, whole = words
            meanings = tuple(dict.fromkeys(name for word in words for name in concepts_of(word)))
            yield Term((whole,), meanings, tuple(parts), whole in WEAK_STEMS), whole in STOP_STEMS


def _dense_terms(run: str) -> Iterator[tuple[Term, bool]]:
    for word in known_words(run):
        meanings = concepts_of(word)
        if meanings:
            yield Term(tuple(pairs(word)), meanings, tuple(word) if len(word) > 1 else ()), False
            continue
        for pair in pairs(word):
            parts = tuple(char for char in pair if char not in WEAK_CHARACTERS) if len(pair) > 1 else ()
            yield Term((pair,), parts=parts), _is_empty(pair)


def _is_empty(pair: str) -> bool:
    if len(pair) == 1:
        return pair in WEAK_CHARACTERS
    if pair in FULL_PAIRS:
        return False
    return pair in EMPTY_PAIRS or any(char in EMPTY_CHARACTERS for char in pair)
