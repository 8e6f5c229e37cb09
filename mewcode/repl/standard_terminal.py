"""The terminal that standard input and output are, as prompt-toolkit takes it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from io import UnsupportedOperation

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.output.vt100 import Vt100_Output

from mewcode.repl.notify import FOCUS_REPORTS_OFF, FOCUS_REPORTS_ON
from mewcode.repl.paste_input import PasteInput


def standard_input() -> Input:
    """Standard input as a terminal."""
    try:
        sys.stdin.fileno()
    except UnsupportedOperation:  # it was replaced by something that is no file
        return create_input()
    return PasteInput(sys.stdin)


class Terminal(Vt100_Output):
    """A terminal that was closed takes what is still written, so that the session can be saved in peace.

    With ``focus_reports`` the terminal says where the focus is, while the screen is ours: bracketed paste is
    switched on and off at the same moments.
    """

    focus_reports = False
    _question = ""

    def ask_behind_drawing(self, question: str) -> None:
        """Sends this once, with the first drawing."""
        self._question = question

    def enable_bracketed_paste(self) -> None:
        super().enable_bracketed_paste()
        if self.focus_reports:
            self.write_raw(FOCUS_REPORTS_ON)
        question, self._question = self._question, ""
        self.write_raw(question)

    def disable_bracketed_paste(self) -> None:
        super().disable_bracketed_paste()
        if self.focus_reports:
            self.write_raw(FOCUS_REPORTS_OFF)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            if error.errno not in (errno.EIO, errno.ENXIO, errno.EPIPE):
                raise
            # What standard output's buffer still holds would be tried again at the end, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stdout.fileno())


def standard_output(environ: Mapping[str, str]) -> Terminal:
    """Standard output as a terminal. No cursor reports are asked for: the answer would come in the middle of
    the user's typing, and nothing needs it."""
    descriptor = sys.stdout.fileno()

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(descriptor)
        except OSError:  # it was closed
            columns = rows = 0
        # A terminal that does not know its size says 0.
        return Size(rows or 24, columns or 80)

    return Terminal(sys.stdout, size, term=environ.get("TERM"), enable_cpr=False)
