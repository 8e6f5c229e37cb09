"""Work in a thread that is told to stop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mewcode.infra.stoppable import Stop, in_stoppable_thread

LIMIT = 20.0


def test_what_it_returns_or_raises() -> None:
    async def scenario() -> None:
        names: list[str] = []

        def work(stop: Stop) -> None:
            names.append(threading.current_thread().name)
            assert not stop()

        assert await in_stoppable_thread("looking", work) is None
        assert names == ["looking"]
        assert await in_stoppable_thread("x", lambda stop: 7) == 7
        with pytest.raises(RuntimeError, match="no luck"):
            await in_stoppable_thread("x", fail)

    def fail(stop: Stop) -> None:
        raise RuntimeError("no luck")

    asyncio.run(scenario())


def test_it_is_told_when_nobody_waits() -> None:
    begun, told = threading.Event(), threading.Event()

    def work(stop: Stop) -> None:
        begun.set()
        while not stop():
            told.wait(0.001)
        told.set()

    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await in_stoppable_thread("x", work)

    asyncio.run(scenario())
    assert begun.is_set()
    assert told.wait(LIMIT)
