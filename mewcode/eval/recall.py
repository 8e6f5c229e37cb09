"""How well recall finds what it should: each question of a set is asked of an index made for it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from mewcode.core.errors import MewCodeError
from mewcode.eval.datasets import NOTHING, Case, Corpus
from mewcode.infra.sqlite import discard_cache
from mewcode.memory.recall.engine import Engine, note_row
from mewcode.memory.recall.ranking import clears
from mewcode.memory.recall.semantic import LoadEmbedder
from mewcode.memory.recall.values import Reading

RANKS = (1, 5, 10, 25)
ALL = "all"
_HITS = 25
_HITS_BY_SESSION = 250
"""Several turns may be of one session."""
_MOST_SECONDS = 3_600.0
"""For the vectors of a collection."""


class Answer(msgspec.Struct, frozen=True):
    """What became of a question. ``found``: in order, at most `_HITS`. ``seconds``: what it took.
    ``clears``: whether the first of it is good enough to be shown to a model unasked."""

    case: Case
    found: tuple[str, ...]
    seconds: float
    clears: bool

    def recall(self, rank: int) -> float:
        """The share of what was wanted that is among the first so many."""
        return len(self.case.wanted & set(self.found[:rank])) / len(self.case.wanted)

    def hit(self, rank: int) -> bool:
        """Whether anything wanted is among the first so many."""
        return not self.case.wanted.isdisjoint(self.found[:rank])

    @property
    def reciprocal_rank(self) -> float:
        """1 where the first is wanted, 1/2 where the second is, ...; 0 where none is."""
        ranks = (1 / rank for rank, name in enumerate(self.found, 1) if name in self.case.wanted)
        return next(ranks, 0.0)


class Measured(msgspec.Struct, frozen=True):
    """The answers of each method (``lexical``: words alone; ``semantic``: meaning as well), and the bytes of
    all indexes."""

    methods: dict[str, list[Answer]]
    size: int

    @property
    def is_asked(self) -> bool:
        """Whether there was any question."""
        return any(self.methods.values())


def measure(corpora: Iterable[Corpus], load_embedder: LoadEmbedder | None = None) -> Measured:
    """Asks all questions, by meaning too where that is given. Raises MewCodeError where an index cannot be
    made."""
    answers: dict[str, list[Answer]] = {}
    size = 0
    loaders = {"lexical": None} if load_embedder is None else {"lexical": None, "semantic": load_embedder}
    with tempfile.TemporaryDirectory(prefix="mewcode-eval-") as folder:
        path = Path(folder) / "recall.sqlite"
        for corpus in corpora:
            for name, loader in loaders.items():
                engine = Engine(path, loader)
                try:
                    _fill(engine, corpus)
                    answers.setdefault(name, []).extend(_ask(engine, corpus))
                    if engine.problem:
                        raise MewCodeError(engine.problem)
                finally:
                    engine.close()
            size += path.stat().st_size
            discard_cache(path)
    return Measured(answers, size)


def _fill(engine: Engine, corpus: Corpus) -> None:
    rows = {note.id: [note_row(note)] for note in corpus.notes}
    readings = {name: Reading(turns, 0, b"-", True) for name, turns in corpus.sessions.items()}
    is_full = engine.update("notes", dict.fromkeys(rows, "-"), rows.get)
    is_full = is_full and engine.update_exchanges(
        dict.fromkeys(readings, "-"), lambda name, _: readings[name]
    )
    if not is_full:
        raise MewCodeError(engine.problem)
    engine.wait_for_vectors(_MOST_SECONDS)


def _ask(engine: Engine, corpus: Corpus) -> list[Answer]:
    answers = []
    for case in corpus.cases:
        began = time.perf_counter()
        hits = engine.search(case.question, limit=_HITS_BY_SESSION if corpus.by_session else _HITS)
        seconds = time.perf_counter() - began
        found = corpus.found(hits)[:_HITS]
        answers.append(Answer(case, tuple(found), seconds, bool(hits) and clears(hits[0])))
    return answers


def figures(answers: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """The figures over all questions that have something to find, and over those of each kind."""
    asked = [answer for answer in answers if answer.case.kind != NOTHING]
    groups = {ALL: [answer for answer in asked if answer.case.is_overall]}
    for answer in asked:
        groups.setdefault(answer.case.kind, []).append(answer)
    return {name: _figures(group) for name, group in groups.items()}


def _figures(answers: Sequence[Answer]) -> dict[str, float]:
    count = len(answers)

    def mean(values: Iterable[float]) -> float:
        return round(sum(values) / count, 4) if count else 0.0

    return {
        "n": count,
        **{f"recall@{rank}": mean(answer.recall(rank) for answer in answers) for rank in RANKS},
        **{f"hit@{rank}": mean(answer.hit(rank) for answer in answers) for rank in RANKS},
        "mrr": mean(answer.reciprocal_rank for answer in answers),
    }


def percentile(values: Sequence[float], part: float) -> float:
    """The value that ``part`` (0 to 1) of the values do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0
