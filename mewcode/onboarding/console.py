"""Questions and answers on a plain terminal: lines out, lines in, nothing redrawn."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from mewcode.infra.terminal_text import safe_text


class Left(Exception):
    """The user has left the questions: the end of input, Ctrl-D."""


class Console(Protocol):
    """Both questions raise `Left` at the end of the input, and KeyboardInterrupt at Ctrl-C."""

    def say(self, text: str = "") -> None: ...

    def ask(self, question: str) -> str:
        """What the user types, without blanks around it."""
        ...

    def ask_hidden(self, question: str) -> str:
        """The same, not shown while it is typed."""
        ...


class TerminalConsole:
    """The process's own terminal. What is said may quote a service or a file: it is made safe to show."""

    def say(self, text: str = "") -> None:
        width = max(40, min(shutil.get_terminal_size().columns, 100))
        lines = (_wrapped(line, width) for line in safe_text(text).split("\n"))
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()

    def ask(self, question: str) -> str:
        sys.stdout.write(question)
        sys.stdout.flush()
        try:
            _await_line()
            line = sys.stdin.readline()
        except UnicodeDecodeError:  # a stray byte; the question is put again
            return ""
        if not line:
            self.say()
            raise Left
        return line.strip()

    def ask_hidden(self, question: str) -> str:
        with _unseen():
            answer = self.ask(question)
        self.say()
        return answer


def _await_line() -> None:
    """Waits until a line was typed. A Ctrl-C that comes just before a read has begun would not end that read:
    Python looks for it when the read is over. Here it is a byte in a pipe, which is waited for as well."""
    if not sys.stdin.isatty():
        return
    import select
    import signal

    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    before = signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    try:
        select.select([sys.stdin, woken], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(woken)
        os.close(wakes)


@contextmanager
def _unseen() -> Iterator[None]:
    """What is typed within it does not show; what was typed before it is dropped."""
    if not sys.stdin.isatty():
        yield
        return
    import termios

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    hidden = before[:]
    hidden[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSAFLUSH, hidden)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def _wrapped(line: str, width: int) -> str:
    """The line broken between words, what follows as far to the right as its beginning."""
    if len(line) < width:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line.lstrip(),
        width - 1,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def choose(console: Console, question: str, options: Sequence[str], preferred: int = 0) -> int:
    """Lists ``options`` with numbers and returns the place of the one chosen; Enter takes ``preferred``.
    Raises `Left`."""
    console.say(question)
    for number, option in enumerate(options, 1):
        console.say(f"  {number:>2}  {option}")
    while True:
        answer = console.ask(f"Number [{preferred + 1}], q leaves: ")
        if not answer:
            return preferred
        if answer.lower() in ("q", "quit", "exit"):
            raise Left
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(options):
            return int(answer) - 1
        console.say(f"Type a number from 1 to {len(options)}, or q to leave.")
