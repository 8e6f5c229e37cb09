"""Words that mean the same, in English and Chinese: the vocabulary of those who build software, and of daily
life. A word of a concept is found by every other word of it. Pure but for the list itself, read once.

``concepts.txt`` is the list, a concept a line. What is read is ``concepts_by_word.txt``, made of it ahead of
time, since to find the stems of all words takes longer than all else that a first question needs; after a
change of the list or of the stems ``python -m mewcode.memory.recall.concepts`` makes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mewcode.memory.recall.stems import stem

LIST = Path(__file__).with_name("concepts.txt")
TABLE = Path(__file__).with_name("concepts_by_word.txt")
_SIZES = (4, 3, 2)
"""Characters of a Chinese word in the list, the longest first."""
_MARK = "§"
"""Begins the name of a concept in the index, which no word of a text does."""


@cache
def _concepts() -> dict[str, tuple[str, ...]]:
    """The concepts of each word: of an English stem, or a Chinese word as it is."""
    found = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        word, *names = line.split(" ")
        found[word] = tuple(names)
    return found


def table_of(concepts: str) -> str:
    """The words of a list with their concepts, a word a line."""
    found: dict[str, dict[str, None]] = {}
    for line in concepts.splitlines():
        english, _, chinese = line.partition("|")
        words = english.split()
        for word in (*(stem(word.replace("-", "")) for word in words), *chinese.split()):
            found.setdefault(word, {})[_MARK + words[0]] = None
    return "".join(f"{' '.join((word, *names))}\n" for word, names in found.items())


def concepts_of(word: str) -> tuple[str, ...]:
    """The concepts that a prepared word belongs to."""
    return _concepts().get(word, ())


def known_words(run: str) -> Iterator[str]:
    """A run of characters without blanks, cut into the longest words of the list and what is between them."""
    known, beginnings = _concepts(), _beginnings()
    start = place = 0
    while place < len(run):
        word = ""
        if run[place : place + 2] in beginnings:
            pieces = (run[place : place + size] for size in _SIZES)
            word = next((piece for piece in pieces if piece in known), "")
        if not word:
            place += 1
            continue
        if start < place:
            yield run[start:place]
        yield word
        start = place = place + len(word)
    if start < len(run):
        yield run[start:]


@cache
def _beginnings() -> frozenset[str]:
    """The first two characters of the Chinese words."""
    return frozenset(word[:2] for word in _concepts() if not word.isascii())


if __name__ == "__main__":
    TABLE.write_text(table_of(LIST.read_text(encoding="utf-8")), encoding="utf-8")
