"""Makes notes out of messages: a model is asked what in them is worth keeping, and what is valid in its
answer is kept. One side call, and a second one where the first answer could not be read."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mewcode.agent.news import may_ask_to_forget
from mewcode.agent.note_call import note_call
from mewcode.agent.noted_words import notice, reminder
from mewcode.agent.noting_cursor import Batch
from mewcode.core.errors import StreamBroken
from mewcode.infra.stoppable import in_stoppable_thread
from mewcode.memory.changes import UNDONE
from mewcode.memory.extract.question import (
    SCHEMA,
    extraction_question,
    extraction_words,
    repair_question,
)
from mewcode.memory.extract.reply import Reply, read_reply
from mewcode.memory.extract.requests import requests_of

if TYPE_CHECKING:
    from mewcode.agent.ports import NoteTaker
    from mewcode.agent.session import Session
    from mewcode.memory.budget import Budget
    from mewcode.memory.store import NoteStore
    from mewcode.providers.catalog import ModelInfo

_LOG = logging.getLogger("mewcode.memory")

TIME_LIMIT = 60.0
"""Seconds for both calls together."""
MOST_OUTPUT = 4_096
"""Tokens of an answer, thought included: a dozen notes with their search words. A title gets a quarter."""
_LEAST_TIME = 1.0
_UNREADABLE = "notes: the model's answer could not be read; nothing noted this time"


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of it: for the user on one line, for the model with the next message; "" for nothing."""

    notice: str = ""
    reminder: str = ""


class Extraction:
    """``today``: the local date. One use."""

    def __init__(self, session: Session, notes: NoteTaker, model: ModelInfo, today: dt.date) -> None:
        self._session = session
        self._notes = notes
        self._model = model
        self._today = today
        self._end = time.monotonic() + TIME_LIMIT

    async def run(self, batch: Batch) -> Looked:
        """Raises `BudgetSpent`, `ProviderError` where the model could not be asked, `NoteError` where the
        notes could not be kept: nothing was noted then."""
        store, budget = await in_stoppable_thread("notes", lambda stop: self._opened())

        def prepare() -> tuple[str, str]:
            question = extraction_question(batch.messages, store.prompt_text(), self._today, batch.earlier)
            return question, extraction_words()

        question, words = await in_stoppable_thread("notes", lambda stop: prepare())
        if not question:
            return Looked()
        answer = await self._ask(budget, words, question)
        reply = read_reply(answer)
        if not reply.is_usable:
            _LOG.info("an answer with notes could not be read: it is asked again")
            answer = await self._ask(budget, words, repair_question(question, answer, reply.problems))
            reply = read_reply(answer)
        if not reply.is_usable:
            return Looked(_UNREADABLE)
        return await in_stoppable_thread("notes", lambda stop: self._kept(store, reply, batch))

    def _opened(self) -> tuple[NoteStore, Budget]:
        return self._notes.store(), self._notes.budget()

    async def _ask(self, budget: Budget, words: str, question: str) -> str:
        left = self._end - time.monotonic()
        if left < _LEAST_TIME:
            raise StreamBroken(f"no answer within {TIME_LIMIT:g} s", "It is left out.")
        return await note_call(
            self._session,
            self._model,
            budget,
            words,
            question,
            schema=SCHEMA,
            limit=left,
            most_output=MOST_OUTPUT,
        )

    def _kept(self, store: NoteStore, reply: Reply, batch: Batch) -> Looked:
        drafts = requests_of(
            reply.proposals,
            batch.messages,
            store.entries(),
            session_id=batch.session_id,
            today=self._today,
            may_delete=may_ask_to_forget,
        )
        source = drafts.sources[0] if drafts.sources else f"{batch.session_id}/{batch.upto}"
        applied = store.apply(drafts.requests, by="agent", source=source, reason=drafts.reason)
        undone = [outcome.kind for outcome in applied.outcomes if outcome.kind in UNDONE]
        self._log(reply.problems, drafts.problems, undone)
        return Looked(
            notice(applied.outcomes, len(reply.problems)), reminder(drafts.requests, applied.outcomes)
        )

    def _log(self, unread: Sequence[str], refused: Sequence[str], undone: Sequence[str]) -> None:
        """Only how many: what they say is of the conversation."""
        if unread or refused or undone:
            _LOG.info(
                "of the notes of %s %d could not be read, %d were refused, %d changed nothing (%s)",
                self._model.name,
                len(unread),
                len(refused),
                len(undone),
                ", ".join(sorted(set(undone))),
            )
