"""A session without a terminal: prompts in, events out, an exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterable
from types import TracebackType
from typing import Self

from mewcode.agent.agent import Agent
from mewcode.agent.run import Run
from mewcode.core.errors import UsageError
from mewcode.core.events import RunResult, StepStarted, TurnEnded
from mewcode.core.message import Usage
from mewcode.headless.output import Output, SessionFacts
from mewcode.infra.collector import start_done

_INTERRUPTED = 130


async def run_headless(agent: Agent, prompts: AsyncIterable[str], output: Output, facts: SessionFacts) -> int:
    """Runs a turn for each prompt and returns the exit code: the first failure's, or 0. A prompt that cannot
    be read counts as a turn that failed. SIGINT, SIGTERM and SIGHUP interrupt the turn, or the wait for the
    next prompt, and no other turn begins; what came is kept."""
    results: list[RunResult] = []
    stopping = _Stopping()
    output.begin(facts)
    try:
        with stopping:
            async for prompt in prompts:
                async with agent.run(prompt) as run:
                    stopping.run = run
                    async for event in run:
                        output.event(event)
                        if isinstance(event, StepStarted):
                            start_done()  # the request is on its way
                stopping.run = None
                results.append(run.result)
                if stopping.asked or run.result.stop == "interrupted":
                    break
    except UsageError as error:
        failed = RunResult(
            "", "error", 0, Usage(), agent.cost_usd, 0, error.message, error.hint, error.exit_code
        )
        output.event(TurnEnded(failed))
        results.append(failed)
    finally:
        output.end(results)
    success = _INTERRUPTED if stopping.asked else 0
    return next((result.exit_code for result in results if result.exit_code), success)


class _Stopping:
    """Within this context, a signal stops ``run``, where one is set, else what the task waits for."""

    _CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.asked = False
        self.run: Run | None = None
        self._task: asyncio.Task[object] | None = None

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        for number in self._CAUGHT:
            asyncio.get_running_loop().add_signal_handler(number, self._stop)
        return self

    def _stop(self) -> None:
        again, self.asked = self.asked, True
        if self.run is not None:
            self.run.interrupt()
        elif self._task is not None and not again:
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        for number in self._CAUGHT:
            asyncio.get_running_loop().remove_signal_handler(number)
        if self.asked and isinstance(error, asyncio.CancelledError) and self._task is not None:
            self._task.uncancel()
            return True
        return False
