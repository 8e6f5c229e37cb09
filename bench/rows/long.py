"""What a turn costs late in a session: as much as an early one, however much was said before."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target, median
from bench.process_tree import precise_cpu_of
from bench.program import LIMIT, headless
from bench.rows.base import Row
from bench.stage import Stage, answers
from tests.support.fake_llm import Reply

_EARLY = 10
_AROUND = 40
"""Turns that are measured, from the early one on, and up to the late one: one alone is mostly noise."""
_QUESTION = json.dumps({"type": "user", "content": "And the next part?"}).encode() + b"\n"
_ANSWER = "It needs the one before."
_SOURCE = "one = 1\n"


@dataclass(frozen=True)
class Long:
    """So many turns in one process, each with a tool round; processor time of the program by turn, without
    that of what it starts. The window holds all of it, so nothing is left out: the request grows.

    The early turns are those of another process, which takes turns with the late ones of the first: a busy
    machine then slows both alike.
    """

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
        call, said = Reply.calls(("read_file", {"path": "part.py"})), Reply.text(_ANSWER)
        turns = self.turns + _EARLY - 1 + _AROUND
        stage.server.play(answers(*(reply for _ in range(turns) for reply in (call, said))))
        early: list[float] = []
        late: list[float] = []
        with ExitStack() as stack:
            old, young = (stack.enter_context(_Talk(stage)) for _ in range(2))
            for talk, count in ((old, self.turns - _AROUND), (young, _EARLY - 1)):
                for _ in range(count):
                    talk.turn()
            for _ in range(_AROUND):
                late.append(old.turn())
                early.append(young.turn())
            old.end()
            young.end()
        if len(stage.server.exchanges) != 2 * turns:
            raise BenchError(f"{len(stage.server.exchanges)} requests in {turns} turns")
        return {"factor": [median(late) / median(early)], "early": [median(early)], "late": [median(late)]}


class _Talk:
    """One process that is asked question after question, in a home of its own."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._place = stage.fresh()
        (self._place.cwd / "part.py").write_text(_SOURCE, encoding="utf-8")
        with (self._place.home / "stderr").open("wb") as stderr:
            self._process = subprocess.Popen(
                headless("--input-format", "stream-json", "--output-format", "stream-json"),
                env=stage.env(self._place),
                cwd=self._place.cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )

    def turn(self) -> float:
        """The seconds of processor time that a turn takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        before = _used(self._process.pid)
        self._process.stdin.write(_QUESTION)
        self._process.stdin.flush()
        _to_result(self._process.stdout)
        return _used(self._process.pid) - before

    def end(self) -> None:
        """Raises `BenchError` where the program does not end well."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(LIMIT)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"no end after {LIMIT:.0f} s") from error
        if code:
            raise BenchError(f"exit code {code}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:
            self._process.kill()
        self._stage.forget(self._place)


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
