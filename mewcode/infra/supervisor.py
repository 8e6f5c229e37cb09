"""Tasks have owners. This is the only place that starts one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_LOG = logging.getLogger("mewcode.supervisor")


class TaskScope:
    """Owns tasks that must not outlive it: a turn's, or a session's background work.

    A task's exception is logged under its name and harms no other task; whoever awaits the task sees it too.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: dict[asyncio.Task[Any], str] = {}

    def start(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts ``work``; cancelled at the latest when the scope closes."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self._name}.{name}")
        self._tasks[task] = name
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        name = self._tasks.pop(task, "")
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("%s.%s failed", self._name, name, exc_info=error)

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._tasks.values())

    async def settle(self, limit: float) -> bool:
        """Waits until nothing runs, also nothing that was started meanwhile; whether that is so within
        ``limit`` seconds."""
        try:
            async with asyncio.timeout(limit):
                while self._tasks:
                    await asyncio.wait(list(self._tasks))
        except TimeoutError:
            return False
        return True

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def close(self, grace: float = 0.0, patience: float = 5.0) -> None:
        """Waits ``grace`` seconds for the tasks to end by themselves, then cancels them and waits at most
        ``patience`` seconds for their clean-up."""
        if self._tasks and grace > 0:
            await asyncio.wait(list(self._tasks), timeout=grace)
        self.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=patience)
        if self._tasks:
            _LOG.error("%s: tasks did not end: %s", self._name, ", ".join(self._tasks.values()))
