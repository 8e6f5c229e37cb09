"""The picker of sessions: start, or key, to the first row that is seen. With the index as an earlier use left
it, and without any, where only the folders' names are known at first."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

from bench.figures import Figure, Samples, Target
from bench.program import program, run_to_end
from bench.rows.base import Row
from bench.rows.terminal import open_terminal
from bench.stage import Place, Stage
from bench.terminal import PROMPT
from tests.support.archive import head, make_session, said

# The selected row begins so, and nothing else on the screen.
_ROW = "\x1b[7m❯".encode()
_NEWEST = 1_780_000_000
_APART = 2_000


@dataclass(frozen=True)
class Picker:
    """``mewcode -r`` among so many sessions of two messages each, and ``/resume`` within a session."""

    sessions: int
    runs: int = 1000

    @property
    def name(self) -> str:
        return f"picker-{self.sessions}"

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        title = f"session picker, {self.sessions:,} sessions"
        return (
            Figure(f"{title}: start to the list", "warm", "ms", Target(20, of_bare=True)),
            Figure(f"{title}, no index yet: start to the list", "cold", "ms", Target(20, of_bare=True)),
            Figure(f"{title}: /resume to the list", "within", "ms", Target(100)),
        )

    def sample(self, stage: Stage) -> Samples:
        place = stage.once(("picker", self.sessions), lambda: self._make(stage))
        fresh = stage.fresh()
        stage.play_short()
        samples = {
            "warm": [_start(stage, place)],
            # A home without a cache, on the same sessions.
            "cold": [_start(stage, Place(fresh.home, place.cwd))],
            "within": [_within(stage, place)],
        }
        stage.forget(fresh)
        return samples

    def _make(self, stage: Stage) -> Place:
        place = stage.fresh()
        for number in range(self.sessions):
            then = float(_NEWEST - number * _APART)
            name = time.strftime("%Y%m%d-%H%M%S", time.localtime(then)) + f"-{number:04x}"
            prompt = said("m1", f"look at part {number} of the parser and mend it 错误 {number % 97}", then)
            answer = said("m2", "It is mended.", then, "assistant")
            folder = place.cwd / ".mewcode" / "sessions"
            make_session(folder, name, head(name, then, branch="main"), prompt, answer, mtime=then)
        run_to_end([*program(), "sessions", "list", "--json"], stage.env(place), place.cwd)
        return place


def _start(stage: Stage, place: Place) -> float:
    with open_terminal(stage, place, "-r") as terminal:
        return terminal.wait_for(_ROW) - terminal.started


def _within(stage: Stage, place: Place) -> float:
    with open_terminal(stage, place) as terminal:
        terminal.wait_for(PROMPT)
        terminal.settle()
        terminal.send("/resume")
        terminal.settle()
        start = len(terminal.output)
        sent = terminal.send("\r")
        return terminal.wait_for(_ROW, start) - sent


ROWS: tuple[Row, ...] = (Picker(1_000),)
# To make and to index so many takes some seconds.
ON_REQUEST: tuple[Row, ...] = (Picker(10_000),)
