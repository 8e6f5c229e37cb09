"""Blocking work in a thread that is told when nobody waits for it any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

T = TypeVar("T")

Stop = Callable[[], bool]
"""True once the work should end."""


async def in_stoppable_thread(name: str, work: Callable[[Stop], T]) -> T:
    """What ``work`` returns or raises. When this is cancelled, the `Stop` that ``work`` was given turns true;
    the program's end does not wait for the thread, which the event loop's own would make it do."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    stopped = threading.Event()

    def settle(value: T | None, error: Exception | None) -> None:
        if answer.done():  # nobody waits any more
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(cast("T", value))

    def call() -> None:
        value, failure = None, None
        try:
            value = work(stopped.is_set)
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=call, name=name, daemon=True).start()
    try:
        return await answer
    finally:
        stopped.set()
