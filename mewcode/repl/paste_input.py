"""The terminal's input, with pastes that lose their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress

PATIENCE = 0.5
"""Seconds without a byte after which a paste counts as ended."""

_END = "\x1b[201~"


class PasteInput(Vt100Input):
    """Gives up waiting for the mark that ends a paste: a connection that drops it, or a program that sends
    only its beginning, would else swallow every key from then on."""

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)
        self._paste_parser = self.vt100_parser
        self._ready: Callable[[], None] = _nothing
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        self._ready = input_ready_callback
        return super().attach(input_ready_callback)

    def read_keys(self) -> list[KeyPress]:
        keys = super().read_keys()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._paste_parser._in_bracketed_paste:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._give_up)
        return keys

    def _give_up(self) -> None:
        self._timer = None
        if self._paste_parser._in_bracketed_paste and not self.closed:
            self._paste_parser.feed(_END)
            self._ready()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().close()


def _nothing() -> None:
    pass
