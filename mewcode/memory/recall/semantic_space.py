"""The vectors of a collection, and how near each is to a question. Exact: all are looked at."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mewcode.memory.recall.semantic import Vector

    Floats = NDArray[np.float32]

_AT_ONCE = 512
"""Vectors that are made into floats at once: these stay in the processor's cache."""
_SCRIPT_CHARACTERS = 400
"""Characters of a text that say which script it is in."""
_USUAL = 8.0
"""How many texts the usual cosines count for, beside those that are there."""
_USUAL_SAME = 0.81
_USUAL_OTHER = 0.77
_USUAL_SPREAD = 0.016
"""Cosines of texts that have nothing to do with a question, in its script and in another; how far they lie
apart. As found on one half of ``evals/recall-notes.json``."""


class Space:
    """Made of `semantic_tables.rows_with_vectors`; not changed afterwards."""

    def __init__(self, found: Sequence[Any]) -> None:
        size = max((len(vector) for *_, vector in found), default=0)
        found = [row for row in found if len(row[5]) == size]
        self.rows: list[int] = [row[0] for row in found]
        self._numbers: dict[str, int] = {row[1]: number for number, row in enumerate(found)}
        packed = b"".join(row[5] for row in found)
        self._vectors = np.frombuffer(packed, np.int8).reshape(len(found), size)
        self._lengths = self._norms()
        scripts = np.array([row[4] for row in found], dtype=object)
        self._scripts = {script: np.flatnonzero(scripts == script) for script in sorted(set(scripts))}
        places = {(row[2], row[3]): number for number, row in enumerate(found)}
        before = [places.get((row[2], row[3] - 1), -1) for row in found]
        self._before = np.array(before, dtype=np.int64)
        self._pair_lengths = self._norms_of_pairs()

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, id_: str) -> int | None:
        """Where a row's figures stand in the answers of the others; None where it has no vector."""
        return self._numbers.get(id_)

    def cosines(self, question: Vector) -> Floats:
        """How near each text is to the question."""
        found = np.empty(len(self), np.float32)
        for start in range(0, len(self), _AT_ONCE):
            part = self._vectors[start : start + _AT_ONCE].astype(np.float32)
            found[start : start + _AT_ONCE] = part @ question
        return found / self._lengths

    def with_before(self, cosines: Floats) -> Floats:
        """The mean of each cosine and that of the text together with the one before in its source (of the sum
        of both vectors); where there is none before, the cosine."""
        before = np.where(self._before >= 0, cosines[self._before], 0.0)
        return ((cosines + (cosines + before) / self._pair_lengths) / 2).astype(np.float32)

    def standing(self, cosines: Floats, script: str) -> Floats:
        """How far each cosine lies above those of the texts in the same script, in standard deviations: the
        model thinks that texts of one language are alike. ``script``: the question's."""
        found = np.empty_like(cosines)
        for name, numbers in self._scripts.items():
            part = cosines[numbers]
            usual = _USUAL_SAME if name == script else _USUAL_OTHER
            count = len(part) + _USUAL
            mean = (part.sum(dtype=np.float64) + _USUAL * usual) / count
            squares = ((part - mean) ** 2).sum(dtype=np.float64) + _USUAL * _USUAL_SPREAD**2
            found[numbers] = (part - mean) / np.sqrt(squares / count)
        return found

    def _norms(self) -> Floats:
        found = np.empty(len(self), np.float32)
        for start in range(0, len(self), _AT_ONCE):
            part = self._vectors[start : start + _AT_ONCE].astype(np.float32)
            found[start : start + _AT_ONCE] = np.linalg.norm(part, axis=1)
        return np.maximum(found, 1.0)

    def _norms_of_pairs(self) -> Floats:
        """How long the sum of two unit vectors is; 1 where there is one alone."""
        found = np.ones(len(self), np.float32)
        pairs = np.flatnonzero(self._before >= 0)
        for start in range(0, len(pairs), _AT_ONCE):
            own = pairs[start : start + _AT_ONCE]
            before = self._before[own]
            products = np.einsum("ij,ij->i", self._floats(own), self._floats(before))
            found[own] = np.sqrt(np.maximum(2 + 2 * products, 1e-6))
        return found

    def _floats(self, numbers: NDArray[np.int64]) -> Floats:
        vectors: Floats = self._vectors[numbers].astype(np.float32) / self._lengths[numbers, None]
        return vectors


def nearest(figures: Floats, most: int) -> list[int]:
    """The numbers of the highest figures, the highest first."""
    chosen = np.arange(len(figures))
    if len(figures) > most:
        chosen = np.argpartition(-figures, most - 1)[:most]
    return [int(number) for number in chosen[np.lexsort((chosen, -figures[chosen]))]]


def packed(vector: Vector) -> bytes:
    """A vector as it is kept, a byte for each number: what that takes from a cosine is under a thousandth."""
    most = float(np.abs(vector).max()) or 1.0  # its length does not matter
    return bytes(np.rint(vector * (127 / most)).astype(np.int8))


def script_of(text: str) -> str:
    """The script that most of a text is in, by Unicode's word for it."""
    counts = Counter(map(_script, text[:_SCRIPT_CHARACTERS]))
    del counts[""]
    # Of Chinese and Japanese one character says as much as a word.
    return max(counts, key=lambda name: (counts[name] * (3 if name in _DENSE else 1), name), default="")


_DENSE = frozenset({"CJK", "HIRAGANA", "KATAKANA"})


@lru_cache(maxsize=1 << 13)
def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""
