"""The real program in a pseudo terminal, its screen read by an emulator.

    with Terminal([...argv], cwd=folder, env=env) as terminal:
        terminal.wait_for("❯")
        terminal.send("hello\\r")
        terminal.wait_for("the answer")

All waits have a limit and say what was on the screen when it passed.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect
import pyte

LIMIT = 20.0
"""Seconds: far more than anything takes, for a machine that is busy."""


class _Screen(pyte.HistoryScreen):
    """Lines that a lower screen has no room for go into the scrollback, as in real terminals."""

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        for _ in range(max(0, self.cursor.y + 1 - (lines or self.lines))):
            self.history.top.append(self.buffer[0])
            for row in range(self.lines - 1):
                self.buffer[row] = self.buffer[row + 1]
            self.buffer.pop(self.lines - 1, None)
            self.cursor.y -= 1
        column, row = self.cursor.x, self.cursor.y
        # What is left below the cursor is cut off; pyte itself would cut at the top.
        if lines is not None and lines < self.lines:
            for extra in range(lines, self.lines):
                self.buffer.pop(extra, None)
            self.lines = lines
        super().resize(lines, columns)
        self.set_margins()
        self.cursor.x, self.cursor.y = min(column, self.columns - 1), row
        self.dirty.update(range(self.lines))


def _as_a_terminal_would() -> None:
    """Ctrl-C and Ctrl-\\ reach the program, also where the tests run in the background of a shell."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """``rows`` by ``columns`` cells with a scrollback of 20,000 lines."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        rows: int = 24,
        columns: int = 80,
    ) -> None:
        self.screen = _Screen(columns, rows, history=20_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self._changed = threading.Condition()
        self._closed = False
        self.raw = bytearray()
        self._wake, self._woken = os.pipe()
        self._child = pexpect.spawn(
            argv[0],
            list(argv[1:]),
            cwd=str(cwd),
            env={"TERM": "xterm-256color", "LANG": "C.UTF-8", **env},
            dimensions=(rows, columns),
            encoding=None,
            timeout=None,
            echo=False,
            preexec_fn=_as_a_terminal_would,
        )
        self._child.delaybeforesend = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        terminal = self._child.child_fd
        while True:
            ready, _, _ = select.select([terminal, self._wake], [], [])
            data = b""
            if terminal in ready:
                with suppress(OSError):  # the program has closed its end
                    data = os.read(terminal, 65536)
            with self._changed:
                if data:
                    self.raw += data
                    self._stream.feed(data)
                else:
                    self._closed = True
                self._changed.notify_all()
            if not data:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    def lines(self) -> list[str]:
        """The screen's lines, without trailing blanks."""
        with self._changed:
            return [line.rstrip() for line in self.screen.display]

    def history(self) -> list[str]:
        """Scrollback and screen."""
        with self._changed:
            old = [
                "".join(line[column].data for column in range(self.screen.columns)).rstrip()
                for line in self.screen.history.top
            ]
            return old + [line.rstrip() for line in self.screen.display]

    def send(self, text: str) -> None:
        self._child.send(text.encode())

    def resize(self, rows: int, columns: int) -> None:
        with self._changed:
            self.screen.resize(rows, columns)
        self._child.setwinsize(rows, columns)

    def wait_until(self, holds: Callable[[], bool], what: str, limit: float = LIMIT) -> None:
        """Waits until ``holds()`` after some output; fails with the screen's text."""
        deadline = time.monotonic() + limit
        while not holds():
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0 or (self._closed and not holds()):
                    screen = "\n".join(self.screen.display)
                    reason = "the program has ended" if self._closed else f"{limit} s have passed"
                    raise AssertionError(f"{reason} without {what}; the screen:\n{screen}")
                self._changed.wait(min(left, 0.5))

    def wait_for(self, text: str, limit: float = LIMIT) -> None:
        """Waits until ``text`` stands on the screen or in the scrollback."""
        self.wait_until(lambda: text in "\n".join(self.history()), repr(text), limit)

    def wait_for_screen(self, text: str, limit: float = LIMIT) -> None:
        """Waits until ``text`` stands on the visible screen."""
        self.wait_until(lambda: text in "\n".join(self.lines()), repr(text), limit)

    def wait_gone(self, text: str, limit: float = LIMIT) -> None:
        self.wait_until(lambda: text not in "\n".join(self.lines()), f"{text!r} gone", limit)

    def wait_exit(self, limit: float = LIMIT) -> int:
        """Waits for the program's end; its exit code, or minus the signal."""
        self._reader.join(limit)
        waiting = threading.Thread(target=self._child.wait, daemon=True)
        if not self._reader.is_alive():
            waiting.start()
            waiting.join(limit)
        if self._reader.is_alive() or waiting.is_alive():
            raise AssertionError("the program is still running; the screen:\n" + "\n".join(self.lines()))
        status = self._child.exitstatus
        return -int(self._child.signalstatus) if status is None else int(status)

    def hang_up(self) -> None:
        """The window is closed: nobody holds the terminal's other end any more."""
        os.write(self._woken, b"x")
        self._reader.join(LIMIT)
        self._child.ptyproc.fileobj.close()

    def close(self) -> None:
        if self._child.isalive():
            self._child.kill(9)
        os.write(self._woken, b"x")
        self._reader.join(LIMIT)
        self._child.close(force=True)
        os.close(self._wake)
        os.close(self._woken)
