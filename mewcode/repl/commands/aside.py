"""`/btw`: a question aside."""

from __future__ import annotations

from mewcode.repl.commands.registry import Aside, Desk, Outcome, Say


async def btw(desk: Desk, argument: str) -> Outcome:
    if not argument:
        return Say("ask something", "/btw QUESTION asks aside, and leaves no trace in the conversation.")
    return Aside(argument)
