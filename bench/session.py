"""The order of runs: rows take turns, each sample between runs of a bare Python, within a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.errors import BenchError
from bench.figures import Measured, measured
from bench.program import bare_python, headless, run_to_end
from bench.rows.base import Row
from bench.rows.terminal import open_terminal
from bench.stage import Stage, answers
from bench.terminal import PROMPT
from tests.support.fake_llm import Reply

# A few short runs beside each long one; their median is over all runs of the row.
_BARE_RUNS = 3


@dataclass(slots=True)
class Record:
    """What a row gave so far. ``broken`` says why it was given up."""

    row: Row
    samples: dict[str, list[float]] = field(default_factory=dict)
    bare: list[float] = field(default_factory=list)
    runs: int = 0
    broken: str = ""

    def results(self) -> list[Measured]:
        """A result for each figure that has samples; empty for a row that broke."""
        if self.broken:
            return []
        return [
            measured(figure, values, self.bare)
            for figure in self.row.figures
            if (values := self.samples.get(figure.samples))
        ]


def run_rows(
    rows: Sequence[Row], stage: Stage, runs: int, seconds: float, tell: Callable[[str], None]
) -> list[Record]:
    """Measures each row up to ``runs`` times. Rounds go over all rows, so that a busy minute falls on all
    alike. After ``seconds`` nothing new begins, but each row is measured once. ``tell`` is given what goes
    on."""
    records = [Record(row) for row in rows]
    deadline = time.monotonic() + seconds
    for number in range(1, runs + 1):
        for record in records:
            if record.broken or record.runs >= record.row.runs:
                continue
            if record.runs and time.monotonic() > deadline:
                continue
            tell(f"run {number} of {runs}: {record.row.name}")
            _take(record, stage)
    return records


def _take(record: Record, stage: Stage) -> None:
    place = stage.fresh()
    try:
        record.bare += [bare_python(place.cwd) for _ in range(_BARE_RUNS)]
        for name, values in record.row.sample(stage).items():
            record.samples.setdefault(name, []).extend(values)
        record.runs += 1
    except BenchError as error:
        record.broken = str(error)
    finally:
        stage.forget(place)


def warm_up(stage: Stage) -> None:
    """Runs what the rows will run once, so that all bytecode is compiled. Raises `BenchError`."""
    place = stage.fresh()
    (place.cwd / "sample.txt").write_text("one line\n", encoding="utf-8")
    calls = [Reply.calls(("bash", {"command": "echo"})), Reply.calls(("read_file", {"path": "sample.txt"}))]
    stage.server.play(answers(*calls, Reply.text("done")))
    run_to_end(headless("go", "--permission-mode", "bypass"), stage.env(place), place.cwd)
    stage.play_short("openai")
    run_to_end(headless("go", "-c"), stage.env(place, "openai"), place.cwd)
    stage.play_short()
    with open_terminal(stage, place) as terminal:
        terminal.wait_for(PROMPT)
        terminal.send("go\r")
        terminal.wait_for(b"Hello.")
        terminal.settle()
    stage.forget(place)
