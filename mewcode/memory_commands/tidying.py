"""`tidy`: the same as in a session, by a session of which nothing is kept."""

from __future__ import annotations

import asyncio

from mewcode.agent.tidying import tidy
from mewcode.assembly import open_session
from mewcode.memory.answers.tidied import tidied
from mewcode.memory.answers.view import Answer
from mewcode.memory.tidy.report import TidyReport
from mewcode.memory_commands.context import Context
from mewcode.setup import Setup


def tidy_now(context: Context) -> Answer:
    """Needs no model where there is no note. Raises `NotConfigured` where it does and there is none."""
    if not context.store.live():
        return Answer(TidyReport(), hint="there are no notes yet")
    setup = Setup(context.options, context.environ, context.places)
    return tidied(asyncio.run(_tidy(setup)), context.view.asked)


async def _tidy(setup: Setup) -> TidyReport:
    session = open_session(setup, person=None)
    try:
        return await tidy(session, force=True)
    finally:
        await session.aclose()
