"""Recall at each turn: the notes that bear on what is said, seen and done go along with the next request.

What the user says is looked up beside the other preparations of the request, which waits a moment for it
(`RecallWaits`); what comes later goes along with a later one. A model may choose besides, for which nothing
waits. Failures are for the log alone: a turn without its notes is better than none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mewcode.agent.recall_gate import has_content
from mewcode.agent.recall_told import Patience, ToldNotes
from mewcode.core.errors import MewCodeError
from mewcode.infra.stoppable import Stop, in_stoppable_thread

if TYPE_CHECKING:
    from mewcode.agent.conversation import Conversation
    from mewcode.agent.ports import Emit, NoteTaker, RecallIndex
    from mewcode.agent.recall_lookup import Known, Lookup
    from mewcode.agent.recall_step import StepQuestions
    from mewcode.agent.recalled_note import Recalled
    from mewcode.agent.session import Session
    from mewcode.memory.entry import Entry
    from mewcode.providers.catalog import ModelInfo

_LOG = logging.getLogger("mewcode.recall")
_TASK = "recall"


class RecallWaits(msgspec.Struct, frozen=True):
    """Seconds: that a request waits for notes, from what brought the look about; from a look that did not get
    through all notes until they are gone through; from the start, and from the end of a turn, until the index
    is brought up to date; until that is tried again where a turn runs."""

    request: float = 0.05
    rest: float = 0.3
    start: float = 1.0
    turn: float = 3.0
    busy: float = 5.0


class _Turn(msgspec.Struct):
    """``looking``: the look that the next request waits for. ``chooses``: a model is still to be asked.
    ``seen``: so many messages were looked at for what they bring up; ``asked``: what was looked up of it."""

    said: str = ""
    looking: tuple[asyncio.Task[None], Patience] | None = None
    chooses: bool = False
    seen: int = 0
    asked: set[str] = set()


Find = Callable[["Lookup", "Known", Patience, Stop], Sequence["Recalled"]]


class Recalling:
    """Belongs to one session, which says what happens. None of the methods raises. ``selector``: the model
    that chooses, None where none does. Nothing is loaded where there are no notes."""

    def __init__(
        self,
        notes: NoteTaker,
        index: RecallIndex,
        selector: Callable[[Session], ModelInfo | None],
        waits: RecallWaits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._notes = notes
        self._index = index
        self._selector = selector
        self._waits = waits or RecallWaits()
        self._clock = clock
        self._lookup: Lookup | None = None
        self._turn = _Turn()
        self._told = ToldNotes()
        self._ready: list[tuple[Conversation, Sequence[Recalled]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._refreshing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    # --- what the session says ----------------------------------------------------------------------------

    def attend(self, session: Session) -> None:
        """A person is there: the index is brought up to date soon. Called in the event loop."""
        self._later(self._waits.start, session)

    def turn_begins(self, session: Session, said: str) -> None:
        """The user has ``said`` this, which is not in the conversation yet."""
        self._turn = _Turn(said, seen=len(session.agent.conversation.messages) + 1)
        if has_content(said) and self._may_tell(session):
            self._turn.chooses = True
            self._look(session, lambda lookup, *more: lookup.about(said, *more))

    async def before_request(self, session: Session, emit: Emit) -> None:
        """Adds the notes that were found to the conversation."""
        if not self._may_tell(session):
            self._ready.clear()
            return
        turn = self._turn
        if turn.looking is None and (asked := self._brought_up(session)):
            self._look(session, lambda lookup, *more: lookup.in_step(asked, *more))
        if turn.looking is not None:
            await _wait(*turn.looking)
            turn.looking = None
        self._tell(session, emit)
        if turn.chooses:
            turn.chooses = False
            if (model := self._selector(session)) is not None:
                self._start(session, self._choose(session, model, turn.said))

    def turn_ended(self, session: Session) -> None:
        """Called at the end of each turn where a person is there."""
        self._later(self._waits.turn, session)

    def ending(self, session: Session) -> None:
        """The session ends: what is under way is stopped."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        if self._lookup is not None:
            session.background.start(_TASK, in_stoppable_thread(_TASK, lambda stop: self._index.close()))

    # --- what is looked up --------------------------------------------------------------------------------

    def _may_tell(self, session: Session) -> bool:
        """Whether anything may be told: notes are on, there are some, and there is room left for them."""
        return not self._notes.is_off and self._index.has_notes() and self._told.left(session) > 0

    def _look(self, session: Session, find: Find) -> None:
        patience = Patience(time.monotonic() + self._waits.request)
        looking = self._start(session, self._found(session, find, patience))
        self._turn.looking = looking, patience
        self._start(session, self._look_again(session, find, looking))

    async def _found(self, session: Session, find: Find, patience: Patience) -> None:
        """Has notes looked up in a thread, and keeps what was found for the next request."""
        conversation, open_lookup = session.agent.conversation, self._opener(session)
        try:
            found = await in_stoppable_thread(_TASK, lambda stop: find(*open_lookup(), patience, stop))
        except MewCodeError as error:
            _LOG.info("nothing is recalled: %s", error.message)
            return
        self._ready += [(conversation, found)] if found else []

    async def _look_again(self, session: Session, find: Find, first: asyncio.Task[None]) -> None:
        """Looks once more where the index did not know all notes, with all of them, and where there was no
        time to compare what is meant."""
        conversation = session.agent.conversation
        await asyncio.wait({first})
        lookup = self._lookup
        if lookup is None or not (lookup.is_behind or lookup.is_hasty):
            return
        if lookup.is_behind:
            await asyncio.sleep(self._waits.rest)  # the request goes first
            self._refresh(session)
            if self._refreshing is not None:
                await asyncio.wait({self._refreshing})
        if session.agent.conversation is conversation:
            await self._found(session, find, Patience())

    def _opener(self, session: Session) -> Callable[[], tuple[Lookup, Known]]:
        """What gives, in a thread, the lookup and what the conversation holds at this moment."""
        told, messages = dict(self._told.notes(session)), session.agent.conversation.so_far()

        def open_lookup() -> tuple[Lookup, Known]:
            from mewcode.agent.recall_lookup import Known

            return self._loaded(session), Known(told, session.prompt.sections.get("memory", ""), messages)

        return open_lookup

    def _loaded(self, session: Session) -> Lookup:
        """To be called in a thread. Two at once may each make one."""
        if self._lookup is None:
            from mewcode.agent.recall_lookup import Lookup
            from mewcode.agent.work_tree import work_tree_of

            self._lookup = Lookup(self._index, work_tree_of(session.around), self._clock)
        return self._lookup

    def _brought_up(self, session: Session) -> StepQuestions | None:
        """What is new in the conversation that there may be a note on, each thing once a turn."""
        turn, messages = self._turn, session.agent.conversation.messages
        new, turn.seen = messages[turn.seen :], len(messages)
        if all(message.role == "user" and message.origin != "user" for message in new):
            return None
        from mewcode.agent.recall_step import step_questions

        found = step_questions(new, session.around.places.root, session.tools.session.cwd)
        found = found.without(turn.asked)
        turn.asked |= {*found.files, *found.texts}
        return found or None

    async def _choose(self, session: Session, model: ModelInfo, said: str) -> None:
        """Has a model choose; what it chose goes along with the first request after that."""
        from mewcode.agent.recall_choice import chosen_notes

        conversation, budget = session.agent.conversation, self._notes.budget()
        try:
            found = await chosen_notes(session, model, budget, self._opener(session), said, self._clock())
        except MewCodeError as error:
            _LOG.info("no model chooses notes: %s", error.message)
            return
        self._ready += [(conversation, found)] if found else []

    # --- what is told -------------------------------------------------------------------------------------

    def _tell(self, session: Session, emit: Emit) -> None:
        """Adds what was found to the conversation, as far as there is room."""
        ready, self._ready = self._ready, []
        conversation = session.agent.conversation
        found = [note for asked_in, notes in ready if asked_in is conversation for note in notes]
        if not found or not (chosen := self._told.choose(session, found)):
            return
        from mewcode.agent.recalled_note import recall_message

        message = recall_message(chosen)
        self._told.spend(session, message)
        conversation.add(message, emit)
        self._start(session, self._count(session, [note.entry for note in chosen]))

    async def _count(self, session: Session, entries: Sequence[Entry]) -> None:
        try:
            await in_stoppable_thread(_TASK, lambda stop: self._loaded(session).count(entries))
        except MewCodeError as error:
            _LOG.info("the use of notes was not counted: %s", error.message)

    # --- the index ----------------------------------------------------------------------------------------

    def _later(self, delay: float, session: Session) -> None:
        """A timer, not a task that sleeps: nothing has to be waited for at the end."""
        if self._timer is not None:
            self._timer.cancel()  # turns that follow each other quickly are taken in together
        self._timer = asyncio.get_running_loop().call_later(delay, self._catch_up, session)

    def _catch_up(self, session: Session) -> None:
        if session.agent.is_running:
            self._later(self._waits.busy, session)
        else:
            self._refresh(session)

    def _refresh(self, session: Session) -> None:
        is_busy = self._refreshing is not None and not self._refreshing.done()
        if not is_busy and not self._notes.is_off and self._index.has_notes():
            self._refreshing = self._start(session, self._brought_up_to_date(session))

    async def _brought_up_to_date(self, session: Session) -> None:
        try:
            await in_stoppable_thread(_TASK, lambda stop: self._loaded(session).refresh(stop))
        except MewCodeError as error:
            _LOG.info("what can be recalled is not brought up to date: %s", error.message)

    def _start(self, session: Session, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = session.background.start(_TASK, work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _wait(looking: asyncio.Task[None], patience: Patience) -> None:
    """Beside the look nothing is loaded that the request needs: two threads that load take turns, and both
    are done when the slower one is."""
    left = patience.until - time.monotonic()
    if left > 0 and not looking.done():
        await asyncio.wait({looking}, timeout=left)
