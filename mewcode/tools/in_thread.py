"""Disk work in a thread, so that the screen goes on; when the call is cancelled, the thread ends too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# How long a cancelled call waits for its thread, in seconds: local disks answer at once, a dead network
# file system never does.
_PATIENCE = 2.0


class Stopped(Exception):
    """Raised within the thread; nobody waits for its result any more."""


class Stop:
    """Set when the work is no longer wanted; long loops look at it."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    @property
    def wanted(self) -> bool:
        """False once the call was cancelled."""
        return not self._set

    def check(self) -> None:
        """Raises `Stopped` once the call was cancelled."""
        if self._set:
            raise Stopped


async def in_thread(work: Callable[[Stop], T]) -> T:
    """The result of ``work`` run in a thread. Cancelled, it tells the work to stop and waits for it, so that
    nothing is still being written when the caller goes on."""
    stop = Stop()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait([future], timeout=_PATIENCE)
        raise
