"""Finding a session again: the list and the search, with the index as the time before left it."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.program import program, run_to_end
from bench.stage import Place, Stage
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.catalog_search import search
from tests.support.archive import make_session, said

_WORDS = 30_000
_LENGTH = 40
# From what stands in every message to what stands in a few; words, a phrase, a beginning.
_QUERIES = (
    "w00000",
    "w00000 w00001",
    "w00005 w00300",
    '"w00000 w00001"',
    "w02000",
    "w00000 w12345",
    "w0200*",
)


@dataclass(frozen=True)
class Search:
    """Messages in sessions of equal length, their words as frequent as in a language (Zipf). The search is
    timed within a process; the list is the whole program less one that only says its version."""

    messages: int
    sessions: int
    target: float
    runs: int = 20

    @property
    def name(self) -> str:
        return f"search-{self.messages}"

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure(f"search in {self.messages:,} messages, 95th percentile", "search", "ms",
                   Target(self.target), "p95"),
            Figure(f"list of {self.sessions:,} sessions, {self.messages:,} messages, beyond the start",
                   "list", "ms", Target(100)),
        )  # fmt: skip

    def sample(self, stage: Stage) -> Samples:
        place = stage.once(("search", self.messages, self.sessions), lambda: self._make(stage))
        catalog = Catalog(_sessions(place), place.home / "index.sqlite")
        try:
            catalog.refresh()
            times = []
            for query in _QUERIES:
                began = time.perf_counter()
                if not search(catalog, query):
                    raise BenchError(f"nothing was found for {query}")
                times.append(time.perf_counter() - began)
        finally:
            catalog.close()
        return {
            "search": times,
            "list": [_wall(stage, place, "sessions", "list") - _wall(stage, place, "--version")],
        }

    def _make(self, stage: Stage) -> Place:
        place = stage.fresh()
        draw = random.Random(4)  # noqa: S311 - the same words in every run
        weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(_WORDS)))
        words = [f"w{rank:05d}" for rank in range(_WORDS)]
        each = self.messages // self.sessions
        for number in range(self.sessions):
            lines = []
            for turn in range(each):
                text = " ".join(draw.choices(words, cum_weights=weights, k=_LENGTH))
                lines.append(said(f"m{turn}", text, 1e9 + turn, "assistant" if turn % 2 else "user"))
            make_session(_sessions(place), f"20260101-{number:06d}-aaaa", *lines)
        _wall(stage, place, "sessions", "list")
        return place


def _sessions(place: Place) -> Path:
    return place.cwd / ".mewcode" / "sessions"


def _wall(stage: Stage, place: Place, *arguments: str) -> float:
    return run_to_end([*program(), *arguments], stage.env(place), place.cwd).seconds


ROWS = (Search(50_000, 1_000, 50),)
# To make so many takes minutes.
ON_REQUEST = (Search(1_000_000, 1_000, 300),)
