"""The real program in a pseudo terminal, its screen read by an emulator.

    with Terminal([...argv], cwd=folder, env=env) as terminal:
        terminal.wait_for("❯")
        terminal.send("hello\\r")
        terminal.wait_for("the answer")

All waits have a limit and say what was on the screen when it passed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect
import pyte

LIMIT = 20.0
"""Seconds: far more than anything takes, for a machine that is busy."""


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
        self.screen = pyte.HistoryScreen(columns, rows, history=20_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self._changed = threading.Condition()
        self._closed = False
        self.raw = bytearray()
        self._child = pexpect.spawn(
            argv[0],
            list(argv[1:]),
            cwd=str(cwd),
            env={"TERM": "xterm-256color", "LANG": "C.UTF-8", **env},
            dimensions=(rows, columns),
            encoding=None,
            timeout=None,
            echo=False,
        )
        self._child.delaybeforesend = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._child.child_fd, 65536)
            except OSError:  # the program has closed its end
                data = b""
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
        if self._reader.is_alive():
            raise AssertionError("the program is still running; the screen:\n" + "\n".join(self.lines()))
        self._child.wait()
        status = self._child.exitstatus
        return -int(self._child.signalstatus) if status is None else int(status)

    def close(self) -> None:
        if self._child.isalive():
            self._child.kill(9)
        self._reader.join(LIMIT)
        self._child.close(force=True)
