"""A window of a tmux server of our own: keys go in as a person's, the screen comes out as tmux shows it."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

LIMIT = 20.0
"""Seconds: far more than anything takes, for a machine that is busy."""
_POLL = 0.03


class TmuxError(Exception):
    """What was waited for did not come; the text holds the screen."""


class Tmux:
    """A server that nothing else uses, without a config. Ends with the context, and all in it."""

    def __init__(self) -> None:
        self._socket = f"mewcode-tour-{os.getpid()}"
        self._windows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run("kill-server", check=False)

    def run(self, *words: str, check: bool = True) -> str:
        """What a command of tmux prints."""
        done = subprocess.run(
            ["tmux", "-L", self._socket, "-f", os.devnull, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if check and done.returncode:
            raise TmuxError(f"tmux {words[0]}: {done.stderr.decode('utf-8', 'replace').strip()}")
        return done.stdout.decode("utf-8", "replace")

    def open(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int, rows: int
    ) -> Window:
        """A window in which the program runs, and which stays when that has ended."""
        self._windows += 1
        name = f"w{self._windows}"
        assigned = [f"{key}={value}" for key, value in env.items() if key != "TERM"]
        command = shlex.join(["env", "-i", "TERM=tmux-256color", *assigned, *argv])
        size = ["-x", str(columns), "-y", str(rows)]
        self.run(
            "new-session", "-d", "-s", name, *size, "-c", str(cwd), command,
            ";", "set-option", "-t", name, "status", "off",
            ";", "set-option", "-t", name, "remain-on-exit", "on",
            ";", "resize-window", "-t", name, *size,
        )  # fmt: skip
        return Window(self, name)


class Window:
    """``seen``: each screen that was waited for, with the words, in their order."""

    def __init__(self, tmux: Tmux, name: str) -> None:
        self._tmux = tmux
        self._name = name
        self.seen: list[tuple[str, str]] = []

    @property
    def pid(self) -> int:
        return int(self._tmux.run("display-message", "-p", "-t", self._name, "#{pane_pid}"))

    def keys(self, *names: str) -> None:
        """Keys by tmux's names, such as ``Enter``, ``C-r``, ``Escape``."""
        self._tmux.run("send-keys", "-t", self._name, *names)

    def type(self, text: str) -> None:
        """Text as it is."""
        self._tmux.run("send-keys", "-t", self._name, "-l", text)

    def resize(self, columns: int, rows: int) -> None:
        self._tmux.run("resize-window", "-t", self._name, "-x", str(columns), "-y", str(rows))

    def screen(self, *, colours: bool = False) -> str:
        return self._tmux.run("capture-pane", "-p", *(["-e"] if colours else []), "-t", self._name)

    def history(self) -> str:
        """Scrollback and screen."""
        return self._tmux.run("capture-pane", "-p", "-S", "-", "-t", self._name)

    def has_ended(self) -> bool:
        return self._tmux.run("display-message", "-p", "-t", self._name, "#{pane_dead}").strip() == "1"

    def wait_until(self, holds: Callable[[str], bool], what: str, limit: float = LIMIT) -> str:
        """The first screen for which that holds. Raises `TmuxError`."""
        deadline = time.monotonic() + limit
        while not holds(shown := self.screen()):
            if time.monotonic() > deadline:
                raise TmuxError(f"{what} did not come within {limit:.0f} s; the screen:\n{shown}")
            time.sleep(_POLL)
        self.seen.append((what, self.screen(colours=True)))
        return shown

    def wait_for(self, text: str) -> str:
        """Waits until ``text`` stands on the screen."""
        return self.wait_until(lambda shown: text in shown, repr(text))

    def wait_gone(self, text: str) -> str:
        return self.wait_until(lambda shown: text not in shown, f"{text!r} gone")

    def wait_end(self) -> None:
        """Waits until the program has ended."""
        self.wait_until(lambda shown: self.has_ended(), "the end of the program")

    def close(self) -> None:
        self._tmux.run("kill-session", "-t", self._name, check=False)
