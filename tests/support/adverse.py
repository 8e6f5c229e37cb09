"""What the tests of a hostile world share: the program in a terminal or without, its prompt, its archive."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal
from tests.support.witness import Witness

MODEL = "claude-opus-5-5"
Start = Callable[..., Terminal]

FULL_SIZE = bool(os.environ.get("MEWCODE_SOAK"))
"""Else the tests of sizes and of many rounds run at a tenth."""

# A command that has begun, holds `witness` open and ends when `gate` is opened for writing.
# Its card shows the command, in which the word that it says when it runs must not stand.
HELD = "exec 3> witness; echo star''ted; cat gate"


def screen(terminal: Terminal) -> str:
    return "\n".join(terminal.lines())


# What the live part says while a turn or a panel is there.
_BUSY = ("esc to stop", "stopping…", "attempt ", "esc cancels", "esc goes back")


def ready(terminal: Terminal) -> None:
    """Waits until the session is open and the prompt is there, with no turn and no panel."""

    def at_rest() -> bool:
        shown = screen(terminal)
        return MODEL in shown and "❯" in shown and not any(words in shown for words in _BUSY)

    terminal.wait_until(at_rest, "the prompt at rest")


def ask(terminal: Terminal, text: str) -> None:
    ready(terminal)
    terminal.send(text + "\r")


def leave(terminal: Terminal) -> None:
    ready(terminal)
    terminal.send("\x04")
    assert terminal.wait_exit() == 0


def no_traceback(terminal: Terminal) -> None:
    shown = "\n".join(terminal.history())
    assert "Traceback" not in shown
    assert "Warning" not in shown
    assert "never awaited" not in shown


def open_gate(gate: Path, witness: Witness) -> None:
    """Lets `HELD` end, when it is still there: it may not have come to its gate yet."""
    for _ in range(400):
        if not witness.alive():
            return
        try:
            os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            witness.gone_within(0.05)
        else:
            return
    raise AssertionError("the command neither ended nor came to its gate")


def files_of(project: Path) -> list[Path]:
    return sorted((project / ".mewcode/sessions").glob("*/conversation.jsonl"))


def records(path: Path) -> list[dict[str, object]]:
    """Every line must be a whole record."""
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    return [json.loads(line) for line in lines]


class Ended(NamedTuple):
    """How a run without a terminal ended; ``peak`` is the most memory it had, in bytes."""

    code: int
    out: str
    err: str
    peak: int


def headless(
    arguments: Iterable[str],
    project: Path,
    home: Path,
    url: str,
    *,
    stdin: bytes | None = None,
    start: Sequence[str] = PROGRAM,
    **more: str,
) -> Ended:
    """Runs ``-p`` to its end."""
    with (
        TemporaryFile() as given,
        TemporaryFile() as out,
        TemporaryFile() as err,
        TemporaryFile() as peak,
    ):
        given.write(stdin or b"")
        given.seek(0)
        measured = [sys.executable, "-S", "-E", str(Path(__file__).with_name("peak.py")), str(peak.fileno())]
        child = subprocess.Popen(
            [*measured, *start, "-p", "--model", MODEL, *arguments],
            cwd=project,
            env=environment(home, anthropic=url) | more,
            stdin=subprocess.DEVNULL if stdin is None else given,
            stdout=out,
            stderr=err,
            pass_fds=(peak.fileno(),),
        )
        child.wait()
        for file in (out, err, peak):
            file.seek(0)
        return Ended(child.returncode, out.read().decode(), err.read().decode(), int(peak.read()))


def kill(terminal: Terminal) -> None:
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.wait_exit() == -signal.SIGKILL
