"""Going on with a long session: nothing but its reading should take time.

The program begins the session itself, so that it is its own; the records that make it long are added by the
documented form of the file. They hold no compact marker, so the whole history belongs to the first request;
but in the row of that name, where only what stands behind the marker does.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.model_server import MODEL
from bench.program import headless, run_to_end, session_id_of
from bench.rows.base import Row
from bench.rows.terminal import open_terminal
from bench.stage import Place, Stage

_LAST_WORD = "ΞΨΩΞΨΩ"
_SENTENCE = "The parser keeps a stack of open blocks; a line closes those it does not continue. 中文也一样。 "
_SOURCE = "    return replace(state, count=state.count + 1)  # one step, and nothing else changes\n"
_BEHIND = 150_000
"""Bytes behind a marker: about the 45,000 tokens that a compaction takes along."""
# The most memory of the one process that this starts: the system tells it in KB, macOS in bytes.
_WATCH = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


@dataclass(frozen=True)
class _Session:
    place: Place
    id: str
    file: Path
    size: int

    def renew(self) -> None:
        """Takes off what the last run added."""
        os.truncate(self.file, self.size)


def _session(stage: Stage, megabytes: int, behind: int = 0) -> _Session:
    """The session of that size as it was when it was made, which is once for a stage. ``behind``: the bytes
    behind its compact marker, 0 for none."""
    session = stage.once(
        ("session", megabytes, behind), lambda: _make_session(stage, megabytes * 1_000_000, behind)
    )
    session.renew()
    return session


@dataclass(frozen=True)
class Resume:
    """``-p "go on" --resume ID``: start to the last byte of the first request."""

    megabytes: int
    target: float
    runs: int = 1000

    @property
    def name(self) -> str:
        return f"resume-{self.megabytes}"

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        title = f"resume of {self.megabytes} MB, headless: start to first request"
        return (
            Figure(title, "request", "ms", Target(self.target, of_bare=True)),
            Figure(f"{title}'s first byte", "begun", "ms"),
        )

    def sample(self, stage: Stage) -> Samples:
        session = _session(stage, self.megabytes)
        stage.play_short()
        done = run_to_end(
            headless("go on", "--resume", session.id), stage.env(session.place), session.place.cwd
        )
        request = stage.first_request(done.started)
        return {"request": [request], "begun": [stage.server.exchanges[0].begun - done.started]}


@dataclass(frozen=True)
class ResumeCompacted:
    """As `Resume`, of a session that was compacted shortly before its end; and the most memory that it had.
    That is told by a run of its own, under a process that starts nothing else."""

    megabytes: int
    seconds: float
    memory: float
    runs: int = 1000

    @property
    def name(self) -> str:
        return f"resume-compacted-{self.megabytes}"

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        title = f"resume of {self.megabytes} MB with a compact marker, headless"
        return (
            Figure(f"{title}: start to first request", "request", "s", Target(self.seconds)),
            Figure(f"{title}: most memory", "memory", "MB", Target(self.memory)),
        )

    def sample(self, stage: Stage) -> Samples:
        session = _session(stage, self.megabytes, _BEHIND)
        stage.play_short()
        command = headless("go on", "--resume", session.id)
        done = run_to_end(command, stage.env(session.place), session.place.cwd)
        request = stage.first_request(done.started)
        session.renew()
        stage.play_short()
        watched = (sys.executable, "-c", _WATCH, *command)
        told = run_to_end(watched, stage.env(session.place), session.place.cwd).stdout
        return {"request": [request], "memory": [float(told)]}


@dataclass(frozen=True)
class ResumeInTerminal:
    """``--resume ID`` in a terminal: start to the last words of the history on the screen."""

    megabytes: int
    target: float
    runs: int = 1000

    @property
    def name(self) -> str:
        return f"resume-terminal-{self.megabytes}"

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        title = f"resume of {self.megabytes} MB, terminal: start to the history"
        return (Figure(title, "shown", "ms", Target(self.target, of_bare=True)),)

    def sample(self, stage: Stage) -> Samples:
        session = _session(stage, self.megabytes)
        stage.play_short()
        with open_terminal(stage, session.place, "--resume", session.id) as terminal:
            shown = terminal.wait_for(_LAST_WORD.encode())
        return {"shown": [shown - terminal.started]}


def _make_session(stage: Stage, size: int, behind: int) -> _Session:
    place = stage.fresh()
    stage.play_short()
    done = run_to_end(headless("begin", "--output-format", "json"), stage.env(place), place.cwd)
    session_id = session_id_of(done.stdout)
    file = place.cwd / ".mewcode/sessions" / session_id / "conversation.jsonl"
    try:
        records = [json.loads(line) for line in file.read_bytes().splitlines()]
    except (OSError, ValueError) as error:
        raise BenchError(f"the new session cannot be read: {error}") from error
    last = next((record["id"] for record in reversed(records) if "role" in record), None)
    with file.open("ab") as stream:
        for record in _history(last, size - file.stat().st_size, behind):
            stream.write(record)
    return _Session(place, session_id, file, file.stat().st_size)


def _history(parent: str | None, size: int, behind: int) -> Iterator[bytes]:
    """Turns with one tool call each, of 6 KB or so, until there are ``size`` bytes; then a last short one.
    Before the last bytes, as many as ``behind`` says, a compact marker."""
    made, turn, last, is_due = 0, 0, parent, behind > 0
    while made < size:
        if is_due and made >= size - behind:
            last, is_due = uuid.uuid4().hex, False
            yield _marker(last, turn)
        turn += 1
        call = f"call-{turn}"
        args = {"path": f"src/part_{turn}.py"}
        turn_records: tuple[dict[str, object], ...] = (
            {"role": "user", "content": f"Please look at part {turn} and tell me what it does."},
            {
                "role": "assistant",
                "content": _SENTENCE * 4,
                "tool_calls": [{"id": call, "name": "read_file", "args": args}],
            },
            {
                "role": "tool",
                "content": "",
                "tool_results": [{"tool_use_id": call, "content": _SOURCE * 40, "is_error": False}],
            },
            {"role": "assistant", "content": _SENTENCE * 12},
        )
        for fields in turn_records:
            last, line = _record(last, turn, fields)
            made += len(line)
            yield line
    last, line = _record(last, turn + 1, {"role": "user", "content": "And in one word?"})
    yield line
    yield _record(last, turn + 1, {"role": "assistant", "content": f"In one word: {_LAST_WORD}"})[1]


def _marker(own: str, turn: int) -> bytes:
    record = {
        "type": "compact",
        "id": own,
        "ts": 1_750_000_000 + turn,
        "mode": "default",
        "provider": "anthropic",
        "model": MODEL,
        "turns": turn,
        "usage": {"models": {}, "cost_usd": 0.0},
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _record(parent: str | None, turn: int, fields: dict[str, object]) -> tuple[str, bytes]:
    own = uuid.uuid4().hex
    record = {"id": own, "parent": parent, **fields, "ts": 1_750_000_000 + turn}
    return own, json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


ROWS: tuple[Row, ...] = (
    Resume(1, 20),
    Resume(10, 25),
    Resume(50, 35),
    ResumeInTerminal(10, 25),
    ResumeInTerminal(50, 30),
)
# To make so much takes half a minute, and a gigabyte of the disk.
ON_REQUEST: tuple[Row, ...] = (ResumeCompacted(1_000, 2, 300),)
