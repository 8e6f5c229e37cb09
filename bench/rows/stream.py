"""A long answer: 200 KB of Markdown in 4,000 events, sent as fast as the program takes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.model_server import Answer, encode
from bench.process_tree import cpu_of
from bench.program import headless, run_to_end
from bench.rows.base import Row
from bench.rows.terminal import open_terminal
from bench.stage import Stage
from bench.terminal import PROMPT
from tests.support.fake_llm import Faults, Reply, Text, bulk_reply

_KILOBYTES, _EVENTS = 200, 4000

# Letters that stand nowhere else in the answer: a cell of the screen that holds another one already is always
# drawn anew, so these come through the terminal in one piece.
_LAST_WORD = "ΞΨΩΞΨΩ"


@cache
def _answer() -> Answer:
    bulk = bulk_reply(_KILOBYTES, _EVENTS - 1).blocks[0]
    assert isinstance(bulk, Text)
    pieces = (*bulk.pieces, f"The end: {_LAST_WORD}\n")
    return encode(Reply.text(pieces, faults=Faults(coalesce=True)))


@dataclass(frozen=True)
class HeadlessStream:
    """The whole run, from start to exit."""

    name: str = "stream"
    runs: int = 1000
    figures: tuple[Figure, ...] = (
        Figure("200 KB answer, headless: start to exit", "exit", "s", Target(0.5)),
        Figure("200 KB answer, headless: processor time", "cpu", "s", Target(1)),
    )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        stage.server.play([_answer()])
        done = run_to_end(headless("go"), stage.env(place), place.cwd)
        if _LAST_WORD.encode() not in done.stdout[-200:]:
            raise BenchError("the answer's end is not in the output")
        stage.forget(place)
        return {"exit": [done.seconds], "cpu": [done.cpu]}


@dataclass(frozen=True)
class TerminalStream:
    """From the first byte that the model sends to its last word on the screen, in a session that is open."""

    name: str = "stream-terminal"
    runs: int = 1000
    figures: tuple[Figure, ...] = (
        Figure("200 KB answer, terminal: first byte to last word", "shown", "s", Target(0.35)),
        Figure("200 KB answer, terminal: processor time", "cpu", "s", Target(1)),
    )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        stage.server.play([_answer()])
        with open_terminal(stage, place) as terminal:
            terminal.wait_for(PROMPT)
            terminal.settle()
            before = cpu_of(terminal.pid)
            terminal.send("go\r")
            shown = terminal.wait_for(_LAST_WORD.encode())
            after = cpu_of(terminal.pid)
        stage.forget(place)
        used = [] if before is None or after is None else [after - before]
        return {"shown": [shown - stage.server.exchanges[0].first_sent], "cpu": used}


ROWS: tuple[Row, ...] = (HeadlessStream(), TerminalStream())
