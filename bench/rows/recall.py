"""Being reminded: the engine of recall over notes and past turns, in English and Chinese."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.stage import Stage
from mewcode.memory.recall.concepts import CONCEPTS
from mewcode.memory.recall.engine import Engine, note_row
from mewcode.memory.recall.semantic import load_embedder
from mewcode.memory.recall.values import NoteText, Reading, Turn

if TYPE_CHECKING:
    from mewcode.memory.recall.semantic import Vector

_WORDS = 30_000
_CHARACTERS = 3_000
_TURNS = 100
"""Turns of a session."""
_LENGTHS = (1, 2, 3, 5, 8, 12, 30)
"""Words of a question."""
_QUESTIONS = 60
_MOST_SECONDS = 600.0
_PATIENCE = 0.03
"""Seconds for which a request has a question's vector waited for (50 ms without what comes after it)."""


@dataclass(frozen=True)
class Recall:
    """Notes and turns whose words are as frequent as in a language (Zipf), a half of the notes and a quarter
    of the turns in Chinese. Timed within a process, with the index as the time before left it. ``scale``:
    what the row is called by. ``by_meaning``: with vectors, which are drawn by lot, since to make so many
    takes hours; those of the questions are made as ever."""

    scale: int
    notes: int
    turns: int
    target: float
    by_meaning: bool = False
    runs: int = 5

    @property
    def name(self) -> str:
        return f"recall-{self.scale}{'-semantic' if self.by_meaning else ''}"

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        title = f"recall over {self.notes:,} notes and {self.turns:,} turns, 95th percentile"
        if self.by_meaning:
            title = f"{title}, by meaning"
        return (Figure(title, "recall", "ms", Target(self.target), "p95"),)

    def sample(self, stage: Stage) -> Samples:
        path = stage.once(("recall", self.notes, self.turns, self.by_meaning), lambda: self._make(stage))
        engine = self._engine(path)
        try:
            engine.search("zo")  # whoever asks has it open
            self._wait(engine)
            times = []
            for question in _questions():
                began = time.perf_counter()
                engine.search(question, until=time.monotonic() + _PATIENCE)
                times.append(time.perf_counter() - began)
            if engine.problem:
                raise BenchError(engine.problem)
        finally:
            engine.close()
        return {"recall": times}

    def _make(self, stage: Stage) -> Path:
        path = stage.fresh().home / "recall.sqlite"
        said = _Language()
        notes = {
            name: [
                note_row(
                    NoteText(
                        name,
                        said.english(4),
                        (said.english(2), said.chinese(5), said.english(2), said.chinese(4)),
                        said.english(10),
                        said.chinese(80) if number % 2 else said.english(40),
                    )
                )
            ]
            for number, name in enumerate(f"user/n{number}.md" for number in range(self.notes))
        }
        clock = itertools.count(1.0)
        sessions = {f"s{number:06d}": "1" for number in range(self.turns // _TURNS)}

        def read(_name: str, _state: bytes) -> Reading:
            texts = (said.english(40) if number % 4 else said.chinese(60) for number in range(_TURNS))
            turns = [Turn(number, text, when=next(clock)) for number, text in enumerate(texts, 1)]
            return Reading(tuple(turns), 0, b"1", True)

        engine = self._engine(path)
        try:
            if not (
                engine.update("notes", dict.fromkeys(notes, "1"), notes.get)
                and engine.update_exchanges(sessions, read)
            ):
                raise BenchError(engine.problem)
            self._wait(engine)
        finally:
            engine.close()
        return path

    def _engine(self, path: Path) -> Engine:
        return Engine(path, _HalfEmbedder if self.by_meaning else None)

    def _wait(self, engine: Engine) -> None:
        if not engine.wait_for_vectors(_MOST_SECONDS):
            raise BenchError("the vectors did not come in time")


class _HalfEmbedder:
    """`Embedder`: the real one for questions."""

    def __init__(self) -> None:
        import numpy as np

        self._question = load_embedder().question
        self._draw = np.random.default_rng(6)

    def question(self, text: str) -> Vector:
        return self._question(text)

    def passage(self, text: str) -> Vector:
        import numpy as np

        vector = self._draw.standard_normal(384).astype(np.float32)
        return vector / np.float32(np.linalg.norm(vector))


class _Language:
    """The same words and texts in every run."""

    def __init__(self, seed: int = 4) -> None:
        self._draw = random.Random(seed)  # noqa: S311
        shape = random.Random(1)  # noqa: S311
        parts = ("ba", "ko", "ri", "tu", "men", "sal", "vor", "pli", "dan", "gor", "est", "ux")
        self._words = ["".join(shape.choices(parts, k=2 + rank % 3)) for rank in range(_WORDS)]
        # Some are words that others stand for, which are looked up as well.
        known = sorted(
            {
                word
                for line in CONCEPTS.read_text(encoding="utf-8").splitlines()
                for word in line.partition("|")[0].split()
            }
        )
        shape.shuffle(known)
        self._words[::4] = known[: len(self._words[::4])] + self._words[::4][len(known) :]
        self._characters = [chr(0x4E00 + shape.randrange(_CHARACTERS)) for _ in range(_CHARACTERS)]
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(_WORDS)))

    def english(self, words: int) -> str:
        return " ".join(self._draw.choices(self._words, cum_weights=self._weights, k=words))

    def chinese(self, characters: int) -> str:
        weights = self._weights[:_CHARACTERS]
        return "".join(self._draw.choices(self._characters, cum_weights=weights, k=characters))


def _questions() -> list[str]:
    said = _Language(seed=5)
    lengths = itertools.cycle(_LENGTHS)
    return [
        said.english(length) if number % 3 else said.chinese(length)
        for number, length in zip(range(_QUESTIONS), lengths, strict=False)
    ]


ROWS = (Recall(10_000, notes=10_000, turns=50_000, target=50),)
# To make so many takes minutes.
ON_REQUEST = (
    Recall(1_000_000, notes=10_000, turns=1_000_000, target=300),
    Recall(10_000, notes=10_000, turns=50_000, target=50, by_meaning=True),  # needs the extra `semantic`
)
