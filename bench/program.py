"""The program that is measured, and the bare Python beside it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.model_server import MODEL, Protocol

LIMIT = 30.0
"""Seconds after which a run counts as hung: far more than anything here takes on a busy machine."""


def program() -> tuple[str, ...]:
    """The console script as `scripts/run` starts it, else the module where none is installed."""
    script = Path(sys.executable).with_name("mewcode")
    return (sys.executable, str(script)) if script.is_file() else (sys.executable, "-m", "mewcode")


def environment(home: Path, url: str, protocol: Protocol = "anthropic") -> dict[str, str]:
    """A clean environment: nothing of the user's own reaches the program."""
    env = {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    if protocol == "anthropic":
        return env | {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "bench"}
    return env | {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "bench"}


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended well. ``started`` and ``ended`` are `time.monotonic`, ``cpu`` the seconds of
    processor time that it and its children used."""

    started: float
    ended: float
    cpu: float
    stdout: bytes

    @property
    def seconds(self) -> float:
        return self.ended - self.started


def run_to_end(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> Finished:
    """Runs a process to its end. Raises `BenchError` where it fails or takes longer than `LIMIT`."""
    before = _children_cpu()
    started = time.monotonic()
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"no end after {LIMIT:.0f} s") from error
    ended = time.monotonic()
    if done.returncode:
        raise BenchError(f"exit code {done.returncode}: {last_line(done.stderr) or last_line(done.stdout)}")
    return Finished(started, ended, _children_cpu() - before, done.stdout)


def headless(*arguments: str) -> list[str]:
    """The command line of a run without a terminal."""
    return [*program(), "-p", *arguments, "--model", MODEL]


def session_id_of(stdout: bytes) -> str:
    """The session's id in what ``--output-format json`` printed. Raises `BenchError`."""
    try:
        return str(json.loads(stdout)["session_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"no session id in the output: {last_line(stdout)}") from error


def bare_python(cwd: Path) -> float:
    """Seconds that the interpreter takes to do nothing."""
    env = {"HOME": str(cwd), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return run_to_end((sys.executable, "-c", "pass"), env, cwd).seconds


def last_line(output: bytes) -> str:
    """The last line that says something, at most 200 characters."""
    lines = [line for line in output.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
