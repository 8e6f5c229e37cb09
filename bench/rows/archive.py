"""What the archive takes: each message once, and the history never again."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.model_server import encode
from bench.process_tree import written_by
from bench.program import LIMIT, headless
from bench.stage import Stage
from tests.support.fake_llm import Reply

_QUESTION = "What does the next part do, and what does it need from the one before?"
_ANSWER = "It keeps a stack of open blocks, and needs nothing but the line it is given. " * 4


@dataclass(frozen=True)
class Archive:
    """So many turns in one process. Bytes written are those of the file or, where the system tells, all that
    the process gave to ``write`` beside its standard output, whichever is more: a history that is written
    again shows even where the file stays small."""

    name: str
    turns: int
    runs: int = 1

    @property
    def figures(self) -> tuple[Figure, ...]:
        title = f"archive, {self.turns:,} turns"
        return (
            Figure(f"{title}: bytes a record beside the message's own", "beside", "bytes", Target(250)),
            Figure(f"{title}: bytes written to the messages' own", "factor", "x"),
        )

    def sample(self, stage: Stage) -> Samples:
        place = stage.fresh()
        stage.server.play([encode(Reply.text(_ANSWER))])
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
                written = _converse(process, self.turns)
                if process.wait(LIMIT):
                    raise BenchError(f"exit code {process.returncode}")
            except subprocess.TimeoutExpired as error:
                raise BenchError(f"no end after {LIMIT:.0f} s") from error
            finally:
                process.kill()
        saved = _saved(place.cwd)
        own = (len(_own("user", _QUESTION)) + len(_own("assistant", _ANSWER))) * self.turns
        records = saved.count(b"\n")
        if records < 2 * self.turns:
            raise BenchError(f"{records} records for {2 * self.turns} messages")
        written = max(written, len(saved))
        stage.forget(place)
        return {"beside": [(written - own) / records], "factor": [written / own]}


def _converse(process: subprocess.Popen[bytes], turns: int) -> int:
    """Asks question after question; returns the bytes written beside standard output, 0 where unknown."""
    assert process.stdin is not None
    assert process.stdout is not None
    question = json.dumps({"type": "user", "content": _QUESTION}).encode() + b"\n"
    printed = 0
    for _ in range(turns):
        process.stdin.write(question)
        process.stdin.flush()
        printed += _until_result(process.stdout)
    written = written_by(process.pid)
    process.stdin.close()
    return 0 if written is None else written - printed


def _until_result(stdout: IO[bytes]) -> int:
    """Reads up to the turn's result; returns the bytes read. Raises `BenchError`."""
    printed = 0
    for line in stdout:
        printed += len(line)
        if line.startswith(b'{"type":"result"'):
            return printed
    raise BenchError("the program ended in the middle of its turns")


def _own(role: str, content: str) -> bytes:
    return json.dumps({"role": role, "content": content}, separators=(",", ":")).encode()


def _saved(cwd: Path) -> bytes:
    files = list(cwd.glob(".mewcode/sessions/*/conversation.jsonl"))
    if len(files) != 1:
        raise BenchError(f"{len(files)} sessions in place of one")
    return files[0].read_bytes()


ROWS = (Archive("archive", 200),)
# Takes minutes on a busy machine: each request holds all that was said before.
ON_REQUEST = (Archive("archive-2000", 2_000),)
