"""Words that mean the same, and words of the same topic, in English and Chinese: the vocabulary of those who
build software, and of daily life. A word of a concept is found by every other word of it, one of a topic by
the others too, but that counts less. Pure but for the lists themselves, read once.

``concepts.txt`` and ``topics.txt`` are the lists, one of either a line. What is read is
``concepts_by_word.txt``, made of them ahead of time, since to find the stems of all words takes longer than
all else that a first question needs; after a change of a list or of the stems
``python -m mewcode.memory.recall.concepts`` makes it anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mewcode.memory.recall.stems import stem
from mewcode.memory.recall.stop_words import STOP_STEMS, WEAK_STEMS

_HERE = Path(__file__).parent
CONCEPTS = _HERE / "concepts.txt"
TOPICS = _HERE / "topics.txt"
TABLE = _HERE / "concepts_by_word.txt"
_SIZES = (4, 3, 2)
"""Characters of a Chinese word in the list, the longest first."""
_CONCEPT = "§"
_TOPIC = "¤"
"""What begins the name of either in the index, which no word of a text does."""
_JOINT = "-"
"""Between two English words that are one in the lists, and in the table between their stems."""
_MOST_TOPICS = 6
"""Of a word."""


@cache
def _lines() -> list[bytes]:
    """A word and its concepts and topics each, in order: an English stem, or a Chinese word as it is; or
    two stems and the one word that they are."""
    return TABLE.read_bytes().splitlines()


def _line_from(beginning: str) -> bytes:
    """The first line that begins so; empty where none does."""
    lines, wanted = _lines(), beginning.encode()
    place = bisect_left(lines, wanted)
    return lines[place] if place < len(lines) and lines[place].startswith(wanted) else b""


def table_of(concepts: str, topics: str) -> str:
    """The words of the lists with their concepts and topics, a word a line, and the phrases. Of many topics a
    word has the smallest: what may belong to anything tells little."""
    found: dict[str, list[tuple[int, str]]] = {}
    phrases: dict[str, str] = {}
    for mark, lines in ((_CONCEPT, concepts), (_TOPIC, topics)):
        for line in lines.splitlines():
            english, _, chinese = line.partition("|")
            words = english.split()
            prepared = []
            for word in words:
                whole = stem(word.replace(_JOINT, ""))
                prepared.append(whole)
                first, _, second = word.partition(_JOINT)
                if second:
                    phrases[stem(first) + _JOINT + stem(second)] = whole
            prepared = list(dict.fromkeys((*prepared, *chinese.split())))
            size = len(prepared) if mark == _TOPIC else 0
            name = mark + words[0].replace(_JOINT, "")
            for word in prepared:
                found.setdefault(word, []).append((size, name))
    told = [
        " ".join((word, *_names(sorted(sized))))
        for word, sized in found.items()
        if word not in STOP_STEMS and word not in WEAK_STEMS
    ]
    told += (f"{phrase} {word}" for phrase, word in phrases.items())
    return "\n".join((*sorted(told), ""))


def _names(sized: list[tuple[int, str]]) -> list[str]:
    concepts = [name for size, name in sized if not size]
    topics = [name for size, name in sized if size]
    return [*concepts, *topics[:_MOST_TOPICS]]


def names_of(word: str) -> tuple[str, ...]:
    """The concepts and topics that a prepared word belongs to, as the index names them."""
    return tuple(_line_from(f"{word} ").decode().split(" ")[1:])


def concepts_of(word: str) -> tuple[str, ...]:
    """Those of `names_of` whose words mean the same."""
    return tuple(name for name in names_of(word) if name[0] == _CONCEPT)


def topics_of(word: str) -> tuple[str, ...]:
    """Those of `names_of` whose words are of one topic."""
    return tuple(name for name in names_of(word) if name[0] == _TOPIC)


def phrase_of(first: str, second: str) -> str:
    """The one word that two prepared words behind each other are (``roll back``); "" where they are two."""
    return "".join(names_of(first + _JOINT + second))


def opens_phrase(word: str) -> bool:
    """Whether a prepared word is the first of any phrase."""
    return bool(_line_from(word + _JOINT))


def known_words(run: str) -> Iterator[str]:
    """A run of characters without blanks, cut into the longest words of the list and what is between them."""
    start = place = 0
    while place < len(run):
        word = ""
        if place + 1 < len(run) and _line_from(run[place : place + 2]):
            pieces = (run[place : place + size] for size in _SIZES)
            word = next((piece for piece in pieces if names_of(piece)), "")
        if not word:
            place += 1
            continue
        if start < place:
            yield run[start:place]
        yield word
        start = place = place + len(word)
    if start < len(run):
        yield run[start:]


if __name__ == "__main__":
    lists = (path.read_text(encoding="utf-8") for path in (CONCEPTS, TOPICS))
    TABLE.write_text(table_of(*lists), encoding="utf-8")
