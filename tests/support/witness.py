"""Whether processes are gone, seen by what they hold open. A zombie that nobody reaps holds nothing."""

from __future__ import annotations

import os
import select
from pathlib import Path

LIMIT = 20.0
"""Seconds to wait for what should happen at once."""


class Witness:
    """A named pipe: whoever has it open for writing is seen to be gone by its end."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def all_gone(self) -> bool:
        """Waits until all who opened it are gone; False when they are not in time."""
        return bool(self._poll().poll(LIMIT * 1000))

    def gone_within(self, seconds: float) -> bool:
        """As `all_gone`, for so long."""
        return bool(self._poll().poll(seconds * 1000))

    def alive(self) -> bool:
        return not self._poll().poll(0)

    def _poll(self) -> select.poll:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLHUP)
        return poll

    def close(self) -> None:
        os.close(self._descriptor)
