"""The words of a filter, found in items of a list: all of them, each in any of an item's texts, as people
abbreviate (see `fuzzy`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from mewcode.repl.fuzzy import bits_of, is_exact, score

T = TypeVar("T")

# Points by letter, as `fuzzy.score` counts them, from which on letters in order are taken for what was meant
# though they do not stand together: beginnings of words, a letter left out here and there. Scattered letters
# stay below; nearly every prompt holds any few of them somewhere.
_FLOOR = 32 * 4
# Items that are rated between two looks at the clock.
_STEP = 32


@dataclass(frozen=True, slots=True)
class Haystack:
    """An item's texts, made once. ``bits``: see `fuzzy.bits_of`, by text."""

    texts: tuple[str, ...]
    lowered: tuple[str, ...]
    bits: tuple[int, ...]

    @classmethod
    def of(cls, *found: str) -> Self:
        """Of these texts, which are safe to show; empty ones do not count."""
        texts = tuple(filter(None, found))
        lowered = tuple(text.lower() for text in texts)
        return cls(texts, lowered, tuple(map(bits_of, lowered)))


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the filter, made ready to be looked for; one with a capital letter is taken as written."""

    text: str
    exact: bool
    bits: int

    @classmethod
    def of(cls, text: str) -> Word:
        return cls(text, is_exact(text), bits_of(text.lower()))


def rate(words: tuple[Word, ...], hay: Haystack) -> int | None:
    """How well an item fits, the more the better; None where one of the words is not in it."""
    total = 0
    for word in words:
        best: int | None = None
        for text, lowered, bits in zip(hay.texts, hay.lowered, hay.bits, strict=True):
            if word.bits & ~bits:
                continue
            points = _points(word, text, lowered)
            if points is not None and (best is None or points > best):
                best = points
        if best is None:
            return None
        total += best
    return total


def _points(word: Word, text: str, lowered: str) -> int | None:
    is_whole = word.text in (text if word.exact else lowered)
    if len(word.text) < 2:
        return 0 if is_whole else None
    points = score(word.text, text)
    # `score` takes a text's length off, so that the shorter of two wins.
    if points is None or is_whole or points + len(text) >= _FLOOR * len(word.text):
        return points
    return None


def rated(
    words: tuple[Word, ...],
    items: Sequence[T],
    hay: Callable[[T], Haystack],
    show: Callable[[list[T]], None],
    *,
    by_fit: bool,
) -> Generator[None, bool, None]:
    """Finds the items that hold all words, a bit with each step: ``by_fit`` the best first, else as they are.
    What has been found so far is given to ``show`` when it is sent True, and at the end."""
    found: list[tuple[int, int, T]] = []

    def in_order() -> list[T]:
        return [item for _, _, item in sorted(found, key=lambda rating: rating[:2])]

    for place, item in enumerate(items):
        points = rate(words, hay(item))
        if points is not None:
            found.append((-points if by_fit else 0, place, item))
        if place % _STEP == _STEP - 1 and (yield):
            show(in_order())
    show(in_order())
