"""What was left to be looked through for notes: by earlier sessions of the workspace, and in the part of an
archive that is not at hand."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.agent.noted_turns import ask_for_a_look, to_look_through
from mewcode.agent.noting_cursor import EVERY, Batch, Cursor
from mewcode.core.errors import SessionError
from mewcode.infra.stoppable import in_stoppable_thread
from mewcode.sessions.noted import Unlooked, left_over, only_one, read_unlooked

if TYPE_CHECKING:
    from mewcode.agent.ports import SessionArchive
    from mewcode.infra.stoppable import Stop
    from mewcode.sessions.briefs import IsOurs

_LOG = logging.getLogger("mewcode.memory")

_MOST = 5
"""Sessions in one run."""
_DAYS = 30.0


async def look_at_past(
    sessions_dir: Path,
    session_id: str,
    is_ours: IsOurs,
    look: Callable[[Batch], Awaitable[bool]],
    *,
    now: float,
) -> None:
    """Has what was left over looked through with ``look``, the newest session first, until that says that it
    could not. Only one process does so at a time. ``session_id`` is the one in use."""
    if not sessions_dir.is_dir():
        return
    tried = {session_id}
    with only_one(sessions_dir) as is_free:
        while is_free and len(tried) <= _MOST:
            batch = await _next(sessions_dir, is_ours, frozenset(tried), now - _DAYS * 86_400)
            if batch is None:
                return
            tried.add(batch.session_id)
            if not await look(batch):  # others cannot be either
                return


async def catch_up(archive: SessionArchive, cursor: Cursor) -> None:
    """Reads what of an open archive stands before what is at hand and was not looked through."""
    cursor.is_behind = False
    archive.flush()
    try:
        found = await in_stoppable_thread("past notes", lambda stop: read_unlooked(archive.folder))
    except SessionError as error:
        _LOG.info("only what is at hand is looked through for notes: %s", error.message)
        return
    cursor.catch_up(found.messages)


async def _next(sessions_dir: Path, is_ours: IsOurs, tried: Collection[str], since: float) -> Batch | None:
    def search(stop: Stop) -> Unlooked | None:
        found = left_over(sessions_dir, is_ours, _counts, tried=tried, since=since, stop=stop)
        return next(found, None)

    found = await in_stoppable_thread("past notes", search)
    if found is None:
        return None
    messages = tuple(to_look_through(found.messages))
    return Batch(found.session_id, messages, found.messages[-1].id)


def _counts(unlooked: Unlooked) -> bool:
    """Whether it is worth a request: where the user left turns over in a terminal, where their words ask for
    it, or where there is much of it."""
    said = [message.text for message in to_look_through(unlooked.messages) if message.is_said]
    return bool(said) and (unlooked.left > 0 or len(said) >= EVERY or ask_for_a_look(said))
