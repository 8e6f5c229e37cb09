"""Calls of what blocks, in threads that nobody waits for at the program's end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def call_in_thread(name: str, work: Callable[[], T]) -> T:
    """What ``work`` returns or raises, called in a thread of that name.

    The event loop's own threads would be waited for at the program's end, and so keep a user who leaves. When
    the waiting is cancelled the thread goes on, and what it gives is dropped.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(act: Callable[[], None]) -> None:
        if not answer.done():  # the user has left
            act()

    def call() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            failure = error
            act: Callable[[], None] = lambda: answer.set_exception(failure)  # noqa: E731
        else:
            act = lambda: answer.set_result(result)  # noqa: E731
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, act)

    threading.Thread(target=call, name=name, daemon=True).start()
    return await answer
