"""The way to the browser of notes, from a command. What draws it is loaded when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mewcode.repl.commands.registry import BrowseNotes, Desk, Outcome, Say

if TYPE_CHECKING:
    from mewcode.repl.memory_browser_items import Tab


async def browse_notes(desk: Desk, *, tab: Tab = "notes") -> Outcome:
    """Opens it with that tab, also while a turn runs; where there is no screen it is a list in lines."""
    if desk.session.notes is None:
        return Say("notes are off")
    return BrowseNotes(tab)
