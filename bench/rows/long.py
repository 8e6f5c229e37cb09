"""What a turn costs late in a session: as much as an early one, however much was said before."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import IO

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target, median
from bench.process_tree import precise_cpu_of
from bench.program import LIMIT, headless
from bench.rows.base import Row
from bench.stage import Stage, answers
from tests.support.fake_llm import Reply

_EARLY = 10
_AROUND = 20
"""Turns that are measured, from the early one on, and up to the late one: one alone is mostly noise."""
_QUESTION = "And the next part?"
_ANSWER = "It needs the one before."
_SOURCE = "one = 1\n"


@dataclass(frozen=True)
class Long:
    """So many turns in one process, each with a tool round; processor time of the program by turn, without
    that of what it starts. The window holds all of it, so nothing is left out: the request grows."""

    turns: int
    runs: int = 3

    @property
    def name(self) -> str:
        return f"long-{self.turns}"

    @property
    def figures(self) -> tuple[Figure, ...]:
        late = f"turn {self.turns:,}"
        return (
            Figure(f"a turn's processor time: {late} to turn {_EARLY}", "factor", "x", Target(1.2)),
            Figure(f"a turn's processor time: turn {_EARLY}", "early", "ms"),
            Figure(f"a turn's processor time: {late}", "late", "ms"),
        )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        (place.cwd / "part.py").write_text(_SOURCE, encoding="utf-8")
        call, said = Reply.calls(("read_file", {"path": "part.py"})), Reply.text(_ANSWER)
        stage.server.play(answers(*(reply for _ in range(self.turns) for reply in (call, said))))
        arguments = headless("--input-format", "stream-json", "--output-format", "stream-json")
        with (
            (place.home / "stderr").open("wb") as stderr,
            subprocess.Popen(
                arguments,
                env=stage.env(place),
                cwd=place.cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            ) as process,
        ):
            try:
                costs = _converse(process, self.turns)
                if process.wait(LIMIT):
                    raise BenchError(f"exit code {process.returncode}")
            except subprocess.TimeoutExpired as error:
                raise BenchError(f"no end after {LIMIT:.0f} s") from error
            finally:
                process.kill()
        stage.forget(place)
        if len(stage.server.exchanges) != 2 * self.turns:
            raise BenchError(f"{len(stage.server.exchanges)} requests in {self.turns} turns")
        early, late = median(costs[_EARLY - 1 :][:_AROUND]), median(costs[-_AROUND:])
        return {"factor": [late / early], "early": [early], "late": [late]}


def _converse(process: subprocess.Popen[bytes], turns: int) -> list[float]:
    """Asks question after question; the seconds of processor time that each took."""
    assert process.stdin is not None
    assert process.stdout is not None
    question = json.dumps({"type": "user", "content": _QUESTION}).encode() + b"\n"
    costs = []
    before = _used(process.pid)
    for _ in range(turns):
        process.stdin.write(question)
        process.stdin.flush()
        _to_result(process.stdout)
        used = _used(process.pid)
        costs.append(used - before)
        before = used
    process.stdin.close()
    return costs


def _used(pid: int) -> float:
    used = precise_cpu_of(pid)
    if used is None:
        raise BenchError("this system does not tell the processor time of another process")
    return used


def _to_result(stdout: IO[bytes]) -> None:
    for line in stdout:
        if line.startswith(b'{"type":"result"'):
            return
    raise BenchError("the program ended in the middle of its turns")


# Takes a quarter of a minute.
ON_REQUEST: tuple[Row, ...] = (Long(1_000),)
