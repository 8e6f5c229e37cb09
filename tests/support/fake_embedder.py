"""An embedder without a model: words have the meanings that a test gives them, and each language lies in a
corner of its own, as those of real models do."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mewcode.memory.recall.semantic import Vector

_SIZE = 512
_MEANINGS = {"zorb": "quux", "饕餮": "quux", "glim": "fnord", "魍魉": "fnord"}
"""Of words that no list of concepts holds."""
_COMMON = 2.5
_LANGUAGE = 1.0
"""How much counts, beside each word, that it is a text, and in which language: unlike ones have cosines of
0.7 to 0.9, as those of the real model do."""


class FakeEmbedder:
    """``asked`` and ``told`` are the texts it was given."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: list[str] = []

    def question(self, text: str) -> Vector:
        self.asked.append(text)
        return _vector(text)

    def passage(self, text: str) -> Vector:
        self.told.append(text)
        return _vector(text)


def _vector(text: str) -> Vector:
    language = "latin" if text.isascii() else "other"
    total = _COMMON * _direction("text", "") + _LANGUAGE * _direction("language", language)
    for word in text.casefold().split():
        total = total + _direction("word", _MEANINGS.get(word, word))
    found: Vector = (total / np.linalg.norm(total)).astype(np.float32)
    return found


def _direction(kind: str, word: str) -> Vector:
    seed = int.from_bytes(hashlib.blake2b(f"{kind} {word}".encode(), digest_size=8).digest())
    found: Vector = np.random.default_rng(seed).standard_normal(_SIZE).astype(np.float32)
    return found / np.float32(np.linalg.norm(found))
