"""`mewcode -r`: the picker before anything else. Its first sight is drawn before prompt-toolkit is loaded,
which takes longer than all the rest."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from mewcode.core.errors import MewCodeError
from mewcode.repl.picker_view import PickerView
from mewcode.repl.theme import Theme

if TYPE_CHECKING:
    from mewcode.repl.picker_source import SessionSource
    from mewcode.sessions.catalog_entry import CatalogEntry

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[H"
# prompt-toolkit takes the screen over with the cursor at its first cell.
_HOME = "\x1b[H"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_CLOSED = 130
"""The exit code after a signal or the end of the terminal."""


def pick_at_start(
    source: SessionSource, theme: Theme, environ: Mapping[str, str], preload: Callable[[], None]
) -> CatalogEntry | int | None:
    """The session that the user picked, None for none; the exit code 130 after a signal, or where the
    terminal is closed. ``preload`` is called in a thread while the user looks."""
    view = PickerView(theme, source.scopes)
    try:
        known: Sequence[CatalogEntry] | None = source.known(source.scopes[0])
    except MewCodeError:  # the picker asks again, and says what is wrong
        known = None
    if known is not None:
        view.sessions.take(known)
        for _ in view.sessions.steps():
            pass
    view.reading = True
    with _first_sight(view):
        return asyncio.run(_pick(view, source, known, environ, preload))


@contextmanager
def _first_sight(view: PickerView) -> Iterator[None]:
    """Draws the view on the alternate screen. What is typed from now on waits, unseen, for who reads it."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    raw = termios.tcgetattr(descriptor)
    raw[0] &= ~(termios.ICRNL | termios.IXON)
    raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    handlers = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    termios.tcsetattr(descriptor, termios.TCSANOW, raw)
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        _send(_ENTER + "\r\n".join(view.frame((columns or 80) - 1, rows or 24).lines) + _HOME)
        yield
    except BaseException:
        _send(_LEAVE)
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with suppress(termios.error):  # it was closed
            termios.tcsetattr(descriptor, termios.TCSANOW, before)


def _send(text: str) -> None:
    """To the terminal, past the buffer of standard output: that would still hold what one that was closed did
    not take, and fail again at the end."""
    sys.stdout.flush()
    data = text.encode("utf-8", "replace")
    with suppress(OSError):
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(_CLOSED)


async def _pick(
    view: PickerView,
    source: SessionSource,
    known: Sequence[CatalogEntry] | None,
    environ: Mapping[str, str],
    preload: Callable[[], None],
) -> CatalogEntry | int | None:
    from mewcode.repl.picker import Picker
    from mewcode.repl.standard_terminal import standard_input, standard_output

    picker = Picker(view, source, standard_input(), standard_output(environ), is_shown=True, preload=preload)
    loop = asyncio.get_running_loop()
    is_closed = False

    def end() -> None:
        nonlocal is_closed
        is_closed = True
        picker.leave()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end)
    try:
        picked = await picker.run(known)
    except EOFError:  # the terminal was closed
        return _CLOSED
    return _CLOSED if is_closed else picked
