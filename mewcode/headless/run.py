"""A session without a terminal: prompts in, events out, an exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager

from mewcode.agent.agent import Agent, Run
from mewcode.core.errors import UsageError
from mewcode.core.events import RunResult, TurnEnded
from mewcode.core.message import Usage
from mewcode.headless.output import Output, SessionFacts


async def run_headless(agent: Agent, prompts: AsyncIterable[str], output: Output, facts: SessionFacts) -> int:
    """Runs a turn for each prompt and returns the exit code: the first failure's, or 0. Stops after a turn
    that was interrupted. SIGINT, SIGTERM and SIGHUP interrupt the turn; what came is kept. A prompt that
    cannot be read counts as a turn that failed."""
    results: list[RunResult] = []
    output.begin(facts)
    try:
        async for prompt in prompts:
            async with agent.run(prompt) as run:
                with _signals(run):
                    async for event in run:
                        output.event(event)
            results.append(run.result)
            if run.result.stop == "interrupted":
                break
    except UsageError as error:
        failed = RunResult(
            "", "error", 0, Usage(), agent.cost_usd, 0, error.message, error.hint, error.exit_code
        )
        output.event(TurnEnded(failed))
        results.append(failed)
    finally:
        output.end(results)
    return next((result.exit_code for result in results if result.exit_code), 0)


@contextmanager
def _signals(run: Run) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in caught:
        loop.add_signal_handler(number, run.interrupt)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
