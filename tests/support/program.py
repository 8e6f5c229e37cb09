"""The real program as a child process, with a home and a model of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-m", "mewcode")


def environment(home: Path, *, anthropic: str = "", openai: str = "", **more: str) -> dict[str, str]:
    """A clean environment; ``anthropic`` or ``openai`` is the base URL of a (fake) service."""
    env = {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    if anthropic:
        env |= {"ANTHROPIC_BASE_URL": anthropic, "ANTHROPIC_API_KEY": "test-key"}
    if openai:
        env |= {"OPENAI_BASE_URL": openai, "OPENAI_API_KEY": "test-key"}
    return env | more


def run_program(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    limit: float = 60.0,
) -> subprocess.CompletedProcess[bytes]:
    """Runs the program to its end with ``stdin`` (None: /dev/null), its output captured."""
    given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=cwd,
        env=dict(env),
        capture_output=True,
        timeout=limit,
        check=False,
        **given,  # type: ignore[call-overload]
    )
