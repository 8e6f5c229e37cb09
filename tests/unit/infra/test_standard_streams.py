"""Standard streams that the caller closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mewcode.infra.standard_streams import open_closed_streams
from tests.support.program import PROGRAM, environment

_LOOK = (
    "import os, sys; from mewcode.infra.standard_streams import open_closed_streams as mend; mend();"
    "numbers = [sys.stdin.fileno(), sys.stdout.fileno(), sys.stderr.fileno()];"
    "sys.stdout.write('out'); sys.stderr.write('err'); sys.stdout.flush();"
    "assert sys.stdin.read() == ''; assert not sys.stdin.isatty();"
    "free = os.open('/dev/null', os.O_RDONLY); sys.exit(0 if numbers == [0, 1, 2] and free > 2 else 1)"
)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_the_null_device(closed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", _LOOK],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(tmp_path),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == (b"" if ">&-" in closed.replace("2>&-", "") else b"out")
    assert done.stderr == (b"" if "2>&-" in closed else b"err")


def test_open_streams_are_left_alone() -> None:
    before = (sys.stdin, sys.stdout, sys.stderr)
    open_closed_streams()
    assert (sys.stdin, sys.stdout, sys.stderr) == before


def test_wrong_usage_is_wrong_usage_without_standard_error(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *PROGRAM, "--nonsense"],
        capture_output=True,
        env=environment(tmp_path),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
