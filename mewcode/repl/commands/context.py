"""`/context` and `/compact`: what fills the model's window, and how to make room in it."""

from __future__ import annotations

from mewcode.repl.commands.registry import Compact, Desk, Outcome, Say, WindowUse


async def context(desk: Desk, argument: str) -> Outcome:
    """Shows what takes how much of the window; makes no request."""
    session = desk.session
    if not desk.in_turn:
        await session.prepare(fits=False)
    from mewcode.agent.preparing import MOST_CALLS
    from mewcode.context.report import ahead_words

    keeper = session.keeper
    ahead = ahead_words(keeper.ahead.spent.context_tokens, MOST_CALLS)
    return WindowUse(keeper.measure(), keeper.stopped, ahead)


async def compact(desk: Desk, argument: str) -> Outcome:
    """Takes what the summary has to keep in mind."""
    if not desk.session.agent.conversation.messages:
        return Say("there is nothing to sum up yet")
    return Compact(argument)
