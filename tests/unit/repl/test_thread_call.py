"""Calls in threads that nobody waits for."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mewcode.repl.thread_call import call_in_thread


def test_it_gives_what_the_call_gives() -> None:
    async def main() -> str:
        return await call_in_thread("named", lambda: threading.current_thread().name)

    assert asyncio.run(main()) == "named"


def test_it_raises_what_the_call_raises() -> None:
    def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(call_in_thread("fails", work))


def test_nobody_waits_for_a_call_that_was_given_up() -> None:
    gate, done = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait(20)
        done.set()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await call_in_thread("slow", work)

    asyncio.run(main())  # ends although the thread has not
    gate.set()
    assert done.wait(20)
