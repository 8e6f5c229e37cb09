"""An index that is brought up to date beside the conversation, and waited for where it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from mewcode.infra.stoppable import Stop, in_stoppable_thread
from mewcode.infra.supervisor import TaskScope

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a question waits for the index; then it is answered from what is known by then."""
_TELL = 1.0
"""Seconds between two words on how far it is."""

Work = Callable[[Callable[[int], object], Stop], T]
"""Is given whom to tell how many sources were read so far, and what says that it should end. Runs in a
thread."""


class Refresh(Generic[T]):
    """Never runs twice at once. ``scope`` owns the run, which goes on when nobody waits for it any more;
    ``what`` is read, in the plural."""

    def __init__(
        self, work: Work[T], scope: Callable[[], TaskScope], what: str, patience: float = PATIENCE
    ) -> None:
        self._work = work
        self._scope = scope
        self._what = what
        self._patience = patience
        self._task: asyncio.Task[T] | None = None
        self._count = 0

    def begin(self) -> asyncio.Task[T]:
        """The run that is under way, or a new one. To be called in the event loop."""
        if self._task is None or self._task.done():
            self._count = 0
            run = in_stoppable_thread(
                f"index of {self._what}", lambda stop: self._work(self._read_so_far, stop)
            )
            self._task = self._scope().start("index", run)
        return self._task

    async def ready(self, progress: Callable[[str], None]) -> T | None:
        """What a run says that began after this was called; None where that takes too long, and goes on.
        ``progress`` is told how far it is."""
        until = asyncio.get_running_loop().time() + self._patience
        if self._task is not None and not await self._is_done(self._task, until, progress):
            return None
        task = self.begin()
        return task.result() if await self._is_done(task, until, progress) else None

    def _read_so_far(self, count: int) -> None:
        self._count = count

    async def _is_done(self, task: asyncio.Task[T], until: float, progress: Callable[[str], None]) -> bool:
        told = 0
        while not task.done():
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await asyncio.wait([task], timeout=min(left, _TELL))
            if self._count > told and not task.done():
                told = self._count
                progress(f"{told} {self._what} read\n")
        return True
