"""`/bug`: writes a report."""

from __future__ import annotations

import asyncio

from mewcode.repl.bug_report import Conversation, write_report
from mewcode.repl.commands.registry import Desk, Outcome, Say

_WITH = "--with-conversation"


async def bug(desk: Desk, argument: str) -> Outcome:
    if argument not in ("", _WITH):
        return Say(f"{argument!r} is not understood", f"/bug, or /bug {_WITH}")
    messages: Conversation = tuple(desk.session.agent.conversation.messages) if argument else ()
    try:
        path = await asyncio.to_thread(write_report, desk, messages)
    except OSError as error:
        return Say(f"the report cannot be written: {error}", "It needs a folder that can be written to.")
    kept_out = (
        "Secrets are left out as far as they can be told."
        if argument
        else (f"It holds nothing that was said; {_WITH} adds that.")
    )
    return Say(f"the report is in {path}", f"{kept_out} Read it before you send it.")
