"""How much alike two notes are, by pairs of neighbouring letters: works for words and for Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mewcode.memory.entry import Entry
from mewcode.memory.names import name_key
from mewcode.memory.note import Note

NEAR = 0.55
"""From here on a name is worth naming to the person who adds another."""
_SAYS_NEARLY = 0.6
_ALMOST = 0.8
"""From here on two names are one, if the bodies are too."""
_ALMOST_BODY = 0.75
_MOST_COMPARED = 4_000
"""Characters of a body that are compared."""
_MOST_NAMED = 5


def likeness(one: str, other: str) -> float:
    """0 (nothing in common) to 1 (the same letters and digits in the same order, or nearly)."""
    return _share(letter_pairs(one), letter_pairs(other))


def similar_entries(note: Note, entries: Iterable[Entry]) -> list[Entry]:
    """Those of the entries that may be about the same as the note, the nearest first; at most five."""
    names = [letter_pairs(name) for name in (note.name, *note.aliases)]
    said = letter_pairs(note.description or note.body[:200])
    found: list[tuple[float, Entry]] = []
    for entry in entries:
        others = [letter_pairs(name) for name in (entry.name, *entry.aliases)]
        best = max((_share(one, other) for one in names for other in others), default=0.0)
        score = best if best >= NEAR else 0.0
        by_words = _share(said, letter_pairs(entry.line))
        if by_words >= _SAYS_NEARLY:
            score = max(score, by_words)
        if score:
            found.append((score, entry))
    found.sort(key=lambda item: (-item[0], item[1].file))
    return [entry for _, entry in found[:_MOST_NAMED]]


def almost_same_name(note: Note, entries: Sequence[Entry]) -> list[Entry]:
    """Entries of the note's type whose names are nearly its own, the nearest first."""
    name = letter_pairs(note.name)
    scored = [(_share(name, letter_pairs(entry.name)), entry) for entry in entries if entry.type == note.type]
    near = [item for item in scored if item[0] >= _ALMOST]
    near.sort(key=lambda item: (-item[0], item[1].file))
    return [entry for _, entry in near]


def almost_same_body(one: str, other: str) -> bool:
    """Whether two bodies say the same in nearly the same words."""
    return likeness(one[:_MOST_COMPARED], other[:_MOST_COMPARED]) >= _ALMOST_BODY


def says_again(note: Note, other: Note) -> bool:
    """Whether a note says what another said: of its type, by the same name or nearly so with nearly the same
    body. Other figures, such as a day, are another fact."""
    if note.type != other.type or _figures(note) != _figures(other):
        return False
    if name_key(note.name) == name_key(other.name):
        return True
    return likeness(note.name, other.name) >= _ALMOST and almost_same_body(_said(note), _said(other))


def _figures(note: Note) -> set[str]:
    return set(re.findall(r"\d+", f"{note.name}\n{_said(note)}"))


def _said(note: Note) -> str:
    return note.body or note.description


def letter_pairs(text: str) -> dict[str, int]:
    """How often each pair of neighbouring letters or digits stands in the text's beginning."""
    letters = re.sub(r"[\W_]+", "", name_key(text[:_MOST_COMPARED]))
    if len(letters) < 2:
        return {letters: 1} if letters else {}
    pairs: dict[str, int] = {}
    for place in range(len(letters) - 1):
        pair = letters[place : place + 2]
        pairs[pair] = pairs.get(pair, 0) + 1
    return pairs


def _share(one: dict[str, int], other: dict[str, int]) -> float:
    total = sum(one.values()) + sum(other.values())
    if not total:
        return 0.0
    common = sum(min(count, other.get(pair, 0)) for pair, count in one.items())
    return 2 * common / total
