"""Fuzzy matching of paths: the letters of a query in order, better the closer to how people abbreviate.

A query matches a path that holds its characters in this order. Points are given for characters in a row, for
the beginnings of names and words (``input_keys``, ``InputKeys``) and for what stands in the file's own name.
A query with a capital letter is taken as written, any other without regard to case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# Points, chosen so that a run in the file's name beats scattered initials, and those beat scattered letters.
_MATCH = 16
_IN_A_ROW = 18
_NAME_START = 24
_PART_START = 16
_WORD_START = 12
_CAMEL = 10
_IN_NAME = 6
_WHOLE_NAME = 60
_GAP = 1
# Gaps count up to this many characters each: what is far is far.
_GAP_COUNTED = 8
_WORD_ENDS = frozenset(" _-.,()[]{}@+=~")


def bits_of(text: str) -> int:
    """The characters of a lowered text as a set of bits: a query whose bits are not all in a path's cannot
    match it. Letters and digits have a bit each, all others share 24."""
    bits = 0
    for char in set(text):
        code = ord(char)
        if 97 <= code <= 122:
            bits |= 1 << code - 97
        elif 48 <= code <= 57:
            bits |= 1 << code - 22
        else:
            bits |= 1 << 36 + code % 24
    return bits


def is_exact(query: str) -> bool:
    """Whether case counts."""
    return query != query.lower()


def subsequence(query: str) -> Callable[[str], object]:
    """A test of whether a text holds the query's characters in order; the text must be lowered before where
    case does not count."""
    parts = "".join(f"[^{re.escape(char)}]*{re.escape(char)}" for char in query)
    return re.compile(parts, re.DOTALL).match


def score(query: str, path: str) -> int | None:
    """Points of the best way to find ``query`` in ``path``; None where it does not match."""
    exact = is_exact(query)
    text = path if exact else path.lower()
    if len(text) != len(path):  # a letter that lowers to two: no place in one is a place in the other
        path = text
    name = path.rstrip("/").rfind("/") + 1
    best: int | None = None
    for start in _starts(query[0], text, name):
        places = _places(query, text, path, start)
        if places is not None:
            points = _points(places, path, name)
            best = points if best is None else max(best, points)
    if best is None:
        return None
    if text[name:].rstrip("/") == query or text[name:].partition(".")[0] == query:
        best += _WHOLE_NAME
    # Of two that match alike the shorter is meant more often.
    return best * 4 - len(path)


def _starts(first: str, text: str, name: int) -> Sequence[int]:
    """Where a search is begun: anywhere, in the name, at the beginnings of the folders' names."""
    starts = {0, name}
    at = text.find("/" + first)
    while at >= 0 and len(starts) < 6:
        starts.add(at + 1)
        at = text.find("/" + first, at + 1)
    return sorted(starts)


def _places(query: str, text: str, path: str, start: int) -> list[int] | None:
    """The places of the query's characters from ``start`` on: a run where there is one, else each next
    character, at the beginning of a word where that leaves room for the rest."""
    run = text.find(query, start)
    if run >= 0:
        better = run
        while better >= 0 and not _begins(path, better):
            better = text.find(query, better + 1)
        run = better if better >= 0 else run
        return list(range(run, run + len(query)))
    # How far each character may stand to the right without losing the rest.
    limits = [0] * len(query)
    end = len(text)
    for index in range(len(query) - 1, -1, -1):
        end = text.rfind(query[index], start, end)
        if end < 0:
            return None
        limits[index] = end
    places: list[int] = []
    at = start
    for index, char in enumerate(query):
        place = text.find(char, at)
        if not (places and place == places[-1] + 1):
            other = place
            while 0 <= other <= limits[index] and not _begins(path, other):
                other = text.find(char, other + 1)
            if 0 <= other <= limits[index]:
                place = other
        places.append(place)
        at = place + 1
    return places


def _begins(path: str, place: int) -> bool:
    return _start_points(path, place) > 0


def _start_points(path: str, place: int) -> int:
    if place == 0:
        return _PART_START
    before, char = path[place - 1], path[place]
    if before == "/":
        return _PART_START
    if before in _WORD_ENDS:
        return _WORD_START
    camel = char.isupper() and not before.isupper()
    return _CAMEL if camel or (char.isdigit() and not before.isdigit()) else 0


def _points(places: Sequence[int], path: str, name: int) -> int:
    total, before = 0, -2
    for place in places:
        total += _MATCH
        starts = _start_points(path, place)
        if place == before + 1:
            total += max(_IN_A_ROW, starts)
        else:
            total += starts
            if before >= 0:
                total -= _GAP * min(place - before - 1, _GAP_COUNTED)
        if place >= name:
            total += _IN_NAME
        if place == name:
            total += _NAME_START
        before = place
    return total
