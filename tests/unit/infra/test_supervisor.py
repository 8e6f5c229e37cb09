"""Tasks have owners: none outlives its scope, none harms another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from mewcode.infra.supervisor import TaskScope


@pytest.fixture
def log() -> Iterator[list[logging.LogRecord]]:
    """What the supervisor logs, whatever other tests did to the logger above it."""
    records: list[logging.LogRecord] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    logger, keeper = logging.getLogger("mewcode.supervisor"), Keeper()
    logger.addHandler(keeper)
    yield records
    logger.removeHandler(keeper)


async def forever(ended: list[str] | None = None) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        if ended is not None:
            ended.append("ended")


def test_a_task_gives_its_result_and_is_forgotten() -> None:
    async def scenario() -> None:
        scope = TaskScope("turn")

        async def work() -> int:
            return 42

        task = scope.start("work", work())
        assert scope.running == ("work",)
        assert task.get_name() == "turn.work"
        assert await task == 42
        assert scope.running == ()
        await scope.close()

    asyncio.run(scenario())


def test_a_failure_is_logged_under_its_name_and_harms_no_other(log: list[logging.LogRecord]) -> None:
    async def scenario() -> None:
        scope = TaskScope("session")

        async def fail() -> None:
            raise LookupError("gone")

        failing, other = scope.start("index", fail()), scope.start("other", forever())
        with pytest.raises(LookupError):
            await failing  # whoever awaits it sees it too
        assert scope.running == ("other",)
        assert not other.done()
        await scope.close()

    asyncio.run(scenario())
    [record] = log
    assert record.getMessage() == "session.index failed"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], LookupError)


def test_a_failure_that_nobody_awaits_is_logged_too(log: list[logging.LogRecord]) -> None:
    async def scenario() -> None:
        scope = TaskScope("session")

        async def fail() -> None:
            raise LookupError("gone")

        scope.start("index", fail())
        await scope.close(grace=5.0)

    asyncio.run(scenario())
    assert [record.getMessage() for record in log] == ["session.index failed"]


def test_close_cancels_and_waits_for_the_clean_up(log: list[logging.LogRecord]) -> None:
    ended: list[str] = []

    async def scenario() -> None:
        scope = TaskScope("turn")
        tasks = [scope.start(f"task {number}", forever(ended)) for number in range(3)]
        await asyncio.sleep(0)
        await scope.close()
        assert all(task.cancelled() for task in tasks)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
    assert ended == ["ended"] * 3
    assert log == [], "being cancelled is no failure"


def test_close_lets_what_is_nearly_done_end_by_itself() -> None:
    async def scenario() -> None:
        scope, release = TaskScope("session"), asyncio.Event()

        async def work() -> str:
            await release.wait()
            return "saved"

        task = scope.start("work", work())
        asyncio.get_running_loop().call_soon(release.set)
        await scope.close(grace=30.0)
        assert task.result() == "saved"

    asyncio.run(scenario())


def test_close_does_not_wait_for_ever(log: list[logging.LogRecord]) -> None:
    async def scenario() -> None:
        scope, release = TaskScope("session"), asyncio.Event()

        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        task = scope.start("stubborn", stubborn())
        await asyncio.sleep(0)
        await scope.close(patience=0.01)
        assert scope.running == ("stubborn",)
        release.set()
        await task

    asyncio.run(scenario())
    assert [record.getMessage() for record in log] == ["session: tasks did not end: stubborn"]


def test_a_failure_during_the_clean_up_is_logged(log: list[logging.LogRecord]) -> None:
    async def scenario() -> None:
        scope = TaskScope("turn")

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                raise LookupError("in the clean-up")

        scope.start("work", work())
        await asyncio.sleep(0)
        await scope.close()

    asyncio.run(scenario())
    assert [record.getMessage() for record in log] == ["turn.work failed"]


def test_settling_waits_for_what_was_started_meanwhile_and_no_longer_than_its_limit() -> None:
    async def scenario() -> None:
        scope = TaskScope("session")
        done: list[str] = []

        async def second() -> None:
            await asyncio.sleep(0)
            done.append("second")

        async def first() -> None:
            await asyncio.sleep(0)
            scope.start("second", second())

        assert await scope.settle(0.0)
        scope.start("first", first())
        assert await scope.settle(30.0)
        assert done == ["second"]
        scope.start("work", forever())
        assert not await scope.settle(0.01)
        assert scope.running == ("work",)
        await scope.close()

    asyncio.run(scenario())


def test_cancel_alone_does_not_wait() -> None:
    async def scenario() -> None:
        scope = TaskScope("turn")
        task = scope.start("work", forever())
        scope.cancel()
        assert not task.done()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert scope.running == ()

    asyncio.run(scenario())


def test_closing_twice_and_closing_nothing() -> None:
    async def scenario() -> None:
        scope = TaskScope("turn")
        await scope.close()
        scope.start("work", forever())
        await scope.close()
        await scope.close(grace=30.0)

    asyncio.run(scenario())


def test_a_scope_that_is_closed_while_its_owner_is_cancelled_leaves_nothing() -> None:
    ended: list[str] = []

    async def owner() -> None:
        scope = TaskScope("turn")
        scope.start("work", forever(ended))
        try:
            await asyncio.Event().wait()
        finally:
            await scope.close()

    async def scenario() -> None:
        task = asyncio.ensure_future(owner())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["ended"]

    asyncio.run(scenario())


def test_a_task_needs_a_running_loop() -> None:
    work = forever()
    with pytest.raises(RuntimeError):
        TaskScope("turn").start("work", work)
    work.close()
