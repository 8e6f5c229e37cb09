"""A model chooses the notes that bear on what the user said: it sees the list of them, not their texts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mewcode.agent.note_call import BudgetSpent, note_call
from mewcode.agent.side_call import MOST_OUTPUT
from mewcode.core.errors import MewCodeError
from mewcode.infra.stoppable import Stop, in_stoppable_thread
from mewcode.memory.recall.selection import SCHEMA, read_selection, selection_question, selection_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from mewcode.agent.recall_lookup import Known, Lookup
    from mewcode.agent.recalled_note import Recalled
    from mewcode.agent.session import Session
    from mewcode.memory.budget import Budget
    from mewcode.memory.entry import Entry
    from mewcode.providers.catalog import ModelInfo

_LOG = logging.getLogger("mewcode.recall")
_TASK = "choose notes"

TIME_LIMIT = 5.0
"""Seconds for the answer."""
_SHORT_OUTPUT = 256
"""Tokens of an answer of a model that does not think before it."""


async def chosen_notes(
    session: Session,
    model: ModelInfo,
    budget: Budget,
    open_lookup: Callable[[], tuple[Lookup, Known]],
    said: str,
    now: float,
) -> Sequence[Recalled]:
    """The notes that the model chose, none where it failed, which the log tells. ``open_lookup`` is called in
    a thread. Raises nothing but `NoteError`."""

    def listed(stop: Stop) -> tuple[Sequence[Entry], str, str]:
        lookup, known = open_lookup()
        entries = lookup.manifest(said, known, stop)
        return entries, selection_words(), selection_question(said, entries, now)

    entries, words, question = await in_stoppable_thread(_TASK, listed)
    if not entries:
        return ()
    try:
        answer = await note_call(
            session,
            model,
            budget,
            words,
            question,
            schema=SCHEMA,
            limit=TIME_LIMIT,
            most_output=_SHORT_OUTPUT if model.thinking == "none" else MOST_OUTPUT,
            temperature=0.0,
        )
    except BudgetSpent:
        _LOG.info("no model chooses notes: today's tokens for notes are spent")
        return ()
    except MewCodeError as error:
        _LOG.info("no model chooses notes: %s", error.message)
        return ()
    chosen = read_selection(answer, entries)
    if chosen is None:
        _LOG.info("what %s chose of the notes could not be read", model.name)
    if not chosen:
        return ()

    def read(stop: Stop) -> list[Recalled]:
        lookup, known = open_lookup()
        return lookup.chosen(chosen, known, stop)

    return await in_stoppable_thread(_TASK, read)
