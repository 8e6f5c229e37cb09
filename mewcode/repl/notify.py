"""The terminal's title, and a word to the desktop when a turn needs the user who looks elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.terminal_traits import TerminalTraits

LONG_TURN = 10.0
"""Seconds: whoever waits longer has turned to something else."""

_TITLE_WORDS = 60
_NAME = "mewcode"
# XTWINOPS 22 and 23 with 2: the window's title is put on the terminal's stack and taken back from it.
_KEEP_TITLE, _RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"
FOCUS_REPORTS_ON, FOCUS_REPORTS_OFF = "\x1b[?1004h", "\x1b[?1004l"
"""The terminal says when its window comes to the front (``ESC [ I``) and when it leaves it (``ESC [ O``)."""


class Attention:
    """``write`` takes what goes to the terminal as it is, ``clock`` gives seconds.

    A notification is sent at most once a turn, only for a turn of more than 10 s, and only while the window
    is not in front. One whose terminal reports no focus counts as not in front.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        clock: Callable[[], float],
        traits: TerminalTraits,
        *,
        title: bool = True,
        notify: bool = True,
    ) -> None:
        self._write = write
        self._clock = clock
        self._traits = traits
        self._has_title = title and traits.osc
        self._notifies = notify
        self._focused = False
        self._since: float | None = None
        self._open = False

    def begin(self) -> None:
        """Once, when the screen is there."""
        self._open = True
        if self._has_title:
            self._write(_KEEP_TITLE + _title(_NAME))

    def end(self) -> None:
        """Gives the window its own title back."""
        if self._open:
            self._open = False
            if self._has_title:
                self._write(_RESTORE_TITLE)

    def focus(self, *, here: bool) -> None:
        """The terminal's report that its window came to the front, or left it."""
        self._focused = here

    def turn_began(self, task: str) -> None:
        """``task``: the user's words, the first of which become the title."""
        self._since = self._clock()
        if self._has_title:
            self._write(_title(f"{_NAME}: {safe_line(task, _TITLE_WORDS)}"))

    def asked(self) -> None:
        """The turn waits for an answer of the user's."""
        self._tell("MewCode asks you something")

    def turn_ended(self) -> None:
        self._tell("MewCode is done")
        self._since = None

    def _tell(self, text: str) -> None:
        long = self._since is not None and self._clock() - self._since > LONG_TURN
        if not (self._notifies and self._open and long) or self._focused:
            return
        self._since = None
        if self._traits.notification == "osc9":
            self._write(f"\x1b]9;{text}\x07")
        elif self._traits.notification == "osc777":
            self._write(f"\x1b]777;notify;MewCode;{text}\x07")
        else:
            self._write("\x07")


def _title(text: str) -> str:
    return f"\x1b]2;{text}\x07"
