"""Long work on a list in slices, between which keys go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator

from mewcode.infra.supervisor import TaskScope

# Seconds that the work may take before a key's drawing, and between two looks at the keyboard.
_SLICE = 0.003
# Seconds between two sights of a result that is not complete yet.
_SIGHT = 0.06


class Slices:
    """Does one piece of work at a time; ``changed`` asks for a drawing. Runs in the event loop's thread."""

    def __init__(self, tasks: TaskScope, changed: Callable[[], None]) -> None:
        self._tasks = tasks
        self._changed = changed
        self._rest: asyncio.Task[None] | None = None

    def apply(self, steps: Generator[None, bool, None]) -> None:
        """Goes through the steps, in place of those before: as far as a key's drawing may wait at once, the
        rest in slices. They show what they have so far when they are sent True."""
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        if not _advance(steps):
            self._rest = self._tasks.start("filter", self._go_on(steps))

    async def _go_on(self, steps: Generator[None, bool, None]) -> None:
        seen = time.monotonic()
        while True:
            await asyncio.sleep(0)
            is_due = time.monotonic() - seen > _SIGHT
            if _advance(steps, show=is_due):
                break
            if is_due:
                seen = time.monotonic()
                self._changed()
        self._changed()


def _advance(steps: Generator[None, bool, None], *, show: bool = False) -> bool:
    """Goes on for a slice; whether that was all."""
    end = time.monotonic() + _SLICE
    try:
        while True:
            next(steps)
            if time.monotonic() >= end:
                break
        if show:
            steps.send(True)
    except StopIteration:
        return True
    return False
