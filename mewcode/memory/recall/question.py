"""What a question is about, as the index is asked for it. Pure.

A term is what one word of the question may stand as in a text: as it is, as another word of the same meaning,
or at least in parts. Words that say nothing are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from mewcode.memory.recall.concepts import concepts_of, known_words, topics_of
from mewcode.memory.recall.stop_words import (
    EMPTY_CHARACTERS,
    EMPTY_PAIRS,
    FULL_PAIRS,
    STOP_STEMS,
    WEAK_CHARACTERS,
    WEAK_STEMS,
)
from mewcode.memory.recall.words import is_dense, pairs, pieces, spaced, words_in

_MOST_OF_A_QUESTION = 2_000
"""Characters at both ends of a question that count: what is longer is a paste."""
_MOST_TERMS = 32
"""Terms at both ends that count."""
_MOST_WITH_TOPICS = 12
"""Terms of a question: those of a longer one say enough, and to look up their topics takes long."""


class Worth(msgspec.Struct, frozen=True):
    """How much of a term stands in a text that has another word of its meaning, one of its topic, or only its
    parts, each between 0 and 1."""

    meaning: float
    topic: float
    parts: float


class Term(msgspec.Struct, frozen=True):
    """Words of the index: ``exact`` are all of the term, ``meanings`` say the same, ``topics`` are what it is
    about, ``parts`` are in it. ``is_weak``: what it says may be said of anything."""

    exact: tuple[str, ...]
    meanings: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    is_weak: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.exact, *self.meanings, *self.topics, *self.parts)

    def strength_in(self, counts: Mapping[str, float], room: float, worth: Worth) -> float:
        """How well a text holds the term, 0 to 1, by how often each word stands there. ``room``: how often a
        word is to stand there for half of what it counts."""
        best = min((_share(counts.get(word, 0.0), room) for word in self.exact), default=0.0)
        for most, names in ((worth.meaning, self.meanings), (worth.topic, self.topics)):
            if best < most:
                there = [counts[name] for name in names if name in counts]
                best = max(best, most * _share(max(there), room)) if there else best
        if best < worth.parts:
            there = [counts[word] for word in self.parts if word in counts]
            held = sum(_share(count, room) for count in there)
            best = max(best, worth.parts * held / len(self.parts)) if held else best
        return best


def _share(count: float, room: float) -> float:
    return count / (count + room) if count else 0.0


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
    if len(terms) > _MOST_WITH_TOPICS:
        terms = list(dict.fromkeys(msgspec.structs.replace(term, topics=()) for term in terms))
    return terms if len(terms) <= 2 * _MOST_TERMS else terms[:_MOST_TERMS] + terms[-_MOST_TERMS:]


def _terms(piece: str) -> Iterator[tuple[Term, bool]]:
    second = ""
    for run, after, phrase in spaced(piece):
        if second:  # what the phrase before has said
            second = ""
            continue
        if phrase:
            second = after
            both = tuple(word for part in (run, after) for word in words_in(part))
            yield Term((phrase,), concepts_of(phrase), topics_of(phrase), both), False
            continue
        words = words_in(run)
        if words:
            *parts, whole = words
            meanings, topics = _names(concepts_of, words), _names(topics_of, words)
            yield Term((whole,), meanings, topics, tuple(parts), whole in WEAK_STEMS), whole in STOP_STEMS


def _names(names_of: Callable[[str], tuple[str, ...]], words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for word in words for name in names_of(word)))


def _dense_terms(run: str) -> Iterator[tuple[Term, bool]]:
    for word in known_words(run):
        meanings, topics = concepts_of(word), topics_of(word)
        if meanings or topics:
            parts = tuple(word) if len(word) > 1 else ()
            yield Term(tuple(pairs(word)), meanings, topics, parts), False
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
