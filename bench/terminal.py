"""The program in a pseudo terminal, its output searched as bytes: an emulator would cost more than it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.errors import BenchError
from bench.program import LIMIT, last_line

PROMPT = "❯".encode()

LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ"
"""Keys that nothing else on the screen contains, so that each is found exactly when it is echoed."""


class Terminal:
    """A terminal of 120 by 40 cells. ``started`` is the `time.monotonic` right before the program's start.

    The line discipline does not echo: what comes back was drawn by the program.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        self.output = bytearray()
        try:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            mode = termios.tcgetattr(slave)
            mode[3] &= ~termios.ECHO
            termios.tcsetattr(slave, termios.TCSANOW, mode)
            self.started = time.monotonic()
            self._process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd=cwd,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
                # One system call in the child: nothing else makes the terminal its controlling one.
                preexec_fn=_take_terminal,
            )
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, text: str) -> float:
        """Types; returns the `time.monotonic` right before."""
        sent = time.monotonic()
        os.write(self._master, text.encode())
        return sent

    def wait_for(self, wanted: bytes, start: int = 0, limit: float = LIMIT) -> float:
        """The `time.monotonic` at which ``wanted`` stood in the output from ``start`` on.

        Raises `BenchError` where it does not come, or not within ``limit`` seconds.
        """
        deadline = time.monotonic() + limit
        while True:
            if self.output.find(wanted, start) >= 0:
                return time.monotonic()
            # What was searched is not searched again.
            start = max(start, len(self.output) - len(wanted) + 1)
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                reason = "the program has ended" if left > 0 else f"{limit:.0f} s have passed"
                raise BenchError(
                    f"{reason} without {wanted.decode()!r}; last: {last_line(bytes(self.output))!r}"
                )

    def drain(self, seconds: float) -> None:
        """Takes what comes for this long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._read(left):
            pass

    def settle(self, quiet: float = 0.3, limit: float = 10.0) -> None:
        """Takes what comes until nothing has for ``quiet`` seconds, at most for ``limit``."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            size = len(self.output)
            self.drain(quiet)
            if len(self.output) == size:
                return

    def close(self) -> None:
        """Ends the program and all that it started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended by itself
            self._process.poll()
        self._process.wait()
        os.close(self._master)

    def _read(self, limit: float) -> bool:
        """Takes what is there, waiting for it; False where the program has closed its end."""
        if not select.select([self._master], [], [], limit)[0]:
            return True
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # Linux says so when the other end is closed
            return False
        self.output += data
        return bool(data)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
