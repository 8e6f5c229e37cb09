"""The steps of a command on the way to its end: choices, what is worked out, sessions to be opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mewcode.repl.busy_session import Asker, open_or_ask
from mewcode.repl.commands import Above, BrowseNotes, End, Later, OpenSession, Outcome, Pick, PickSession

if TYPE_CHECKING:
    from mewcode.repl.memory_browser_items import Tab


class Guide(Asker, Protocol):
    """The user, as one who can also be shown all sessions."""

    async def pick_session(self) -> Path | None:
        """The folder of the session taken, None for none."""
        ...

    async def browse_notes(self, tab: Tab) -> Outcome | None:
        """Shows the notes until the user leaves them, or gives a list of them where there is no screen."""
        ...

    async def during(self, words: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        """What ``work`` gives; ``words`` say meanwhile what is being done, and the user can stop it: then it
        is cancelled, and None or the cancellation comes of it."""
        ...


async def take_steps(
    outcome: Outcome, guide: Guide, show: Callable[[End], Awaitable[None]] | None = None
) -> End | None:
    """What a command ends with; None where the user has left it on the way. ``show`` gets what stands above a
    choice. Raises `MewCodeError`."""
    while isinstance(outcome, Pick | Later | Above | PickSession | OpenSession | BrowseNotes):
        following: Outcome | None
        if isinstance(outcome, Pick):
            value = await guide.choose(outcome.title, outcome.options, outcome.selected)
            following = None if value is None else outcome.then(value)
        elif isinstance(outcome, Later):
            work = outcome.work
            following = await (guide.during(outcome.doing, work) if outcome.doing else work())
        elif isinstance(outcome, Above):
            if show is not None:
                await show(outcome.shown)
            following = outcome.then
        elif isinstance(outcome, PickSession):
            folder = await guide.pick_session()
            following = None if folder is None else outcome.then(folder)
        elif isinstance(outcome, BrowseNotes):
            following = await guide.browse_notes(outcome.tab)
        else:
            following = await open_or_ask(outcome.open, guide, trust=outcome.trust)
        if following is None:
            return None
        outcome = following
    return outcome
