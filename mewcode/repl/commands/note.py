"""``# text``: kept as a note at once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from mewcode.repl.commands.registry import Later, Outcome, Pick, Say
from mewcode.repl.panel import Option

if TYPE_CHECKING:
    from mewcode.agent.ports import NoteTaker
    from mewcode.agent.session import Session


def note_outcome(session: Session, line: str) -> Outcome:
    """Keeps the words behind the ``#``; asks what they are about only where they do not say."""
    notes, text = session.notes, line.removeprefix("#").strip()
    if notes is None or notes.is_off:
        return Say("notes are off: this was neither kept nor sent", "To send it, begin with another word.")
    if not text:
        return Say("# TEXT keeps a note")
    kind, is_sure = notes.guess(text)
    if is_sure:
        return Later(partial(_keep, session, notes, text, kind))
    kinds = notes.kinds()
    values = [value for value, _, _ in kinds]
    return Pick(
        "what is this note about?",
        tuple(Option(*kind) for kind in kinds),
        lambda value: Later(partial(_keep, session, notes, text, value)),
        values.index(kind) if kind in values else 0,
    )


async def _keep(session: Session, notes: NoteTaker, text: str, kind: str) -> Outcome:
    said, told = await asyncio.to_thread(notes.take, text, kind)
    if told:
        session.agent.remind(told)
    if session.noting is not None:
        session.noting.noted_by_hand(session)
    return Say(said)
