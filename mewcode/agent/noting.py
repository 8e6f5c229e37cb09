"""Takes notes of what is said, behind the conversation: when to look, what is done then, what is told of it.

Nobody waits for it. Without a front end that says `Noting.attend`, no model is asked: what is said then waits
for the next start of one.

What was looked through is recorded in the session's archive once its notes are kept. An end in between leads
to a second look at the same messages, out of which the store makes no second note.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.agent.noted_turns import ask_for_a_look, ended_by_itself, prompts_in
from mewcode.agent.noting_cursor import EVERY, Batch, Cursor, Job
from mewcode.agent.tidying import Tidying
from mewcode.core.errors import MewCodeError, NoteError, SessionError
from mewcode.core.message import Message

if TYPE_CHECKING:
    from mewcode.agent.extracting import Looked
    from mewcode.agent.ports import NoteTaker
    from mewcode.agent.session import Session
    from mewcode.memory.budget import Budget
    from mewcode.providers.catalog import ModelInfo
    from mewcode.providers.registry import Service
    from mewcode.sessions.briefs import IsOurs
    from mewcode.sessions.reader import LoadedSession

_LOG = logging.getLogger("mewcode.memory")

_TASK = "extract"
"""The task's name, which the status line shows in words."""


@dataclass(frozen=True, slots=True)
class NotingWaits:
    """Seconds from the start until the notes are brought up to date and what past sessions left is looked
    through, and until that is tried again where a turn runs. ``listen``: from the end of a turn until it is
    seen whether the user's words are a reason to look, so that nothing is held up that comes right after."""

    past: float = 6.0
    busy: float = 5.0
    listen: float = 0.3


class Noting:
    """Belongs to one session, which says what happens. None of the methods raises; none takes longer than to
    write a record. ``notes``: the notes and what may be spent on them; ``model``: the one to ask at a
    service, None for that of other side calls; ``is_ours``: whether the user's own MewCode made a session,
    whatever came with a folder that they trust."""

    def __init__(
        self,
        notes: NoteTaker,
        model: Callable[[Service], ModelInfo | None],
        sessions_dir: Path,
        is_ours: IsOurs,
        waits: NotingWaits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._notes = notes
        self._model = model
        self._dir = sessions_dir
        self._is_ours = is_ours
        self._waits = waits or NotingWaits()
        self._clock = clock
        self._here: Cursor | None = Cursor()
        self._loaded: tuple[LoadedSession, bool] | None = None
        self._jobs: list[Job] = []
        self._is_wanted = self._is_ending = False
        self._work: asyncio.Task[None] | None = None
        self._past: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.TimerHandle | None = None
        self._tell: Callable[[str], None] | None = None
        self._changed: Callable[[], None] = lambda: None
        self._told_failure = False
        self._reminders: list[str] = []
        self.tidying = Tidying()

    # --- what the front end and the user say --------------------------------------------------------------

    def attend(
        self, session: Session, tell: Callable[[str], None], changed: Callable[[], None] = lambda: None
    ) -> None:
        """A person is there: from now on a model is asked. ``tell`` shows a line, which must not break into
        what is being written; ``changed`` is called when notes begin or cease to be taken. Called once, by a
        front end, in the event loop."""
        self._tell, self._changed = tell, changed
        self._later(self._waits.past, session)
        self.tidying.attend(session, tell)

    def model_for(self, session: Session) -> ModelInfo:
        """The model that is asked for notes."""
        return self._model(session.service) or session.work.side_model(session)

    @property
    def budget(self) -> Budget:
        """What may be spent in a day."""
        return self._notes.budget()

    @property
    def is_off(self) -> bool:
        """Whether the user wants no notes in this session."""
        return self._notes.is_off

    def turn_off(self, session: Session) -> None:
        """From now on nothing is read, written or asked; what waits, and what is said meanwhile, is not
        looked through later either."""
        self._notes.is_off = True
        self.tidying.stop()
        for task in (self._work, self._past):
            if task is not None:
                task.cancel()
        for text in self._reminders:
            session.agent.take_back(text)
        self._reminders.clear()
        self._jobs.clear()
        self._leave_out(session)

    def turn_on(self, session: Session) -> None:
        """Takes `turn_off` back."""
        self._leave_out(session)
        self._notes.is_off = False

    def noted_by_hand(self, session: Session) -> None:
        """The user kept a note of what is being said: this turn, or the last one, is not looked through."""
        if session.agent.is_running:
            self._cursor.is_by_hand = True
        else:
            self._cursor.leave_out_last_turn()

    # --- what happens in the session ----------------------------------------------------------------------

    def entered(self, loaded: LoadedSession, is_fork: bool) -> None:
        """The session goes on with this conversation, or with ``is_fork`` with a copy of it."""
        self._here, self._loaded = None, (loaded, is_fork)  # nobody may ask: a start looks at none of it

    def turn_ended(self, session: Session) -> None:
        """Called at the end of each turn."""
        if self._tell is None:
            return
        if self.is_off:
            self._leave_out(session)
            return
        cursor, messages = self._cursor, session.agent.conversation.messages
        if cursor.collect(messages) and ended_by_itself(messages):
            cursor.turns += 1
            self._look_if_due(session)

    def summed_up(self, session: Session, before: Sequence[Message], begun: Sequence[Message]) -> None:
        """The conversation was ``before`` and begins anew with ``begun``: what waits is looked through."""
        if self._tell is None:
            return
        cursor = self._cursor
        cursor.collect(before)
        cursor.take_up(begun)
        if self._is_listening and prompts_in(cursor.waiting):
            self._begin(session)

    def went_back(self, cut: Sequence[Message], loaded: LoadedSession | None) -> None:
        """The conversation went back: ``cut`` are gone, and with them what of them waits. ``loaded``: where
        it was read from the archive for that."""
        if self._tell is not None:
            self._cursor.go_back(cut, loaded)

    def left(self, session: Session, folder: Path) -> None:
        """The session has let go of the conversation in ``folder``, whose messages are still at hand, and
        goes on with another: what of it waits is looked through now."""
        if self._tell is None:
            return
        messages, cursor, new = session.agent.conversation.messages, self._cursor, Cursor()
        cursor.collect(messages)
        new.take_up(messages)  # where a fork goes on with them
        self._here = new
        if self._is_listening and prompts_in(cursor.waiting):
            self._jobs.append(Job(cursor.take(folder.name, messages), folder))
            self._begin(session, wanted=False)

    def ending(self) -> None:
        """The session ends: nothing more is begun, what is under way has the time that there is."""
        self._is_ending = True
        self.tidying.stop()
        for timer in (self._timer, self._soon):
            if timer is not None:
                timer.cancel()
        if self._past is not None:
            self._past.cancel()

    def ended(self, session: Session) -> None:
        """All tasks have ended, and the archive is closed: what waits is left to the next start."""
        if not self._is_listening:
            return
        cursor = self._cursor
        cursor.collect(session.agent.conversation.messages)
        for job in self._jobs:
            if not job.is_past:
                self._record(session, job.folder, "", prompts_in(job.batch.messages))
        if left := prompts_in(cursor.waiting):
            self._record(session, session.archive.folder, cursor.noted, left)

    @property
    def _cursor(self) -> Cursor:
        """That of the conversation at hand."""
        if self._here is None:
            self._here = Cursor() if self._loaded is None else self._taken_up(*self._loaded)
            self._loaded = None
        return self._here

    def _taken_up(self, loaded: LoadedSession, is_fork: bool) -> Cursor:
        """That of a conversation that is continued; of one that others made no more is looked through than of
        what a fork continues."""
        return Cursor.of(loaded, is_fork or not self._is_ours(loaded.id, loaded.seal))

    @property
    def _is_listening(self) -> bool:
        return self._tell is not None and not self.is_off

    # --- the work -----------------------------------------------------------------------------------------

    def _begin(self, session: Session, *, wanted: bool = True) -> asyncio.Task[None]:
        """Has what waits looked through, after what is under way."""
        self._is_wanted = self._is_wanted or wanted
        if self._work is None or self._work.done():
            self._work = session.background.start(_TASK, self._look_through(session))
            self._work.add_done_callback(lambda _: self._changed())
            self._changed()
        return self._work

    def _look_if_due(self, session: Session) -> None:
        cursor = self._cursor
        if cursor.turns >= EVERY:
            self._begin(session)
        elif cursor.unheard:
            if self._soon is not None:
                self._soon.cancel()
            loop = asyncio.get_running_loop()
            self._soon = loop.call_later(self._waits.listen, self._begin_to_listen, session)

    def _begin_to_listen(self, session: Session) -> None:
        self._soon = None
        if self._is_listening and (said := self._cursor.hear()):
            session.background.start("listen", self._listen(session, said))

    async def _listen(self, session: Session, said: Sequence[str]) -> None:
        """Begins at once where the user's own words are a reason to."""
        from mewcode.infra.stoppable import in_stoppable_thread

        is_asked = await in_stoppable_thread("listen", lambda stop: ask_for_a_look(said))
        if is_asked and self._is_listening and not self._is_ending:
            self._begin(session)

    async def _look_through(self, session: Session) -> None:
        while (job := await self._next(session)) is not None:
            is_done = False
            try:
                is_done = await self._look(session, job)
            except Exception:  # a defect of ours: here it is not tried again, the scope logs the trace
                is_done = True
                raise
            finally:
                if not is_done:
                    self._give_back(job)
            if not is_done:  # it is tried again when there is reason to look again
                return

    async def _next(self, session: Session) -> Job | None:
        if self._is_ending:
            return None
        if self._jobs:
            return self._jobs.pop(0)
        cursor, is_wanted = self._cursor, self._is_wanted
        self._is_wanted = False
        if not (is_wanted and cursor.waiting):
            return None
        if cursor.is_behind:
            from mewcode.agent.noting_past import catch_up

            await catch_up(session.archive, cursor)
        batch = cursor.take(session.id, session.agent.conversation.messages)
        return Job(batch, session.archive.folder, cursor)

    def _give_back(self, job: Job) -> None:
        """What was not looked through waits again, before what came meanwhile."""
        if self.is_off:
            return
        if job.cursor is self._cursor:
            job.cursor.give_back(job.batch)
        else:  # of a conversation that was left, then or meanwhile
            self._jobs.insert(0, Job(job.batch, job.folder, is_past=job.is_past))

    async def _look(self, session: Session, job: Job) -> bool:
        """Whether the messages were looked through, whatever came of it."""
        from mewcode.agent.extracting import Extraction
        from mewcode.agent.note_call import BudgetSpent
        from mewcode.agent.noted_words import spent_words

        try:
            await session.prepare(fits=False)
            today = dt.datetime.fromtimestamp(self._clock()).date()
            looked = await Extraction(session, self._notes, self.model_for(session), today).run(job.batch)
        except BudgetSpent:
            if self.budget.limit and self.budget.tell_once():
                self._say(spent_words(self.budget))
            return False
        except MewCodeError as error:
            self._say_failed(error)
            return False
        self._told_failure = False
        self._record(session, job.folder, job.batch.upto)
        if job.cursor is not None:
            job.cursor.noted = job.batch.upto
        self._tell_of(session, looked)
        return True

    def _leave_out(self, session: Session) -> None:
        """What was said until now is not looked through, and that is recorded."""
        cursor = self._cursor
        cursor.collect(session.agent.conversation.messages)
        cursor.leave_out()
        if cursor.last != cursor.noted:
            cursor.noted = cursor.last
            self._record(session, session.archive.folder, cursor.last)

    def _record(self, session: Session, folder: Path, upto: str, left: int = 0) -> None:
        from mewcode.sessions.noted import record_noted

        archive = session.archive if session.archive.folder == folder and not left else None
        try:
            record_noted(folder, upto, left=left, ts=self._clock(), archive=archive)
        except SessionError as error:
            _LOG.info("what was looked through for notes is not recorded: %s", error.message)

    # --- what past sessions left --------------------------------------------------------------------------

    def _later(self, delay: float, session: Session) -> None:
        """A timer, not a task that sleeps: nothing has to be waited for at the end."""
        self._timer = asyncio.get_running_loop().call_later(delay, self._begin_past, session)

    def _begin_past(self, session: Session) -> None:
        if session.agent.is_running:
            self._later(self._waits.busy, session)
        elif not self.is_off:
            self._look_if_due(session)  # a session that is continued may have left something itself
            self._past = session.background.start("past notes", self._look_at_past(session))

    async def _look_at_past(self, session: Session) -> None:
        from mewcode.agent.noting_past import look_at_past
        from mewcode.infra.stoppable import in_stoppable_thread

        try:
            await in_stoppable_thread("notes", lambda stop: self._notes.store().settle())
        except NoteError as error:
            _LOG.info("the notes are not brought up to date: %s", error.message)

        async def look(batch: Batch) -> bool:
            job = Job(batch, self._dir / batch.session_id, is_past=True)
            self._jobs.append(job)
            await asyncio.wait([self._begin(session, wanted=False)])
            return all(waiting.batch is not batch for waiting in self._jobs)

        await look_at_past(self._dir, session.id, self._is_ours, look, now=self._clock())

    # --- what is told -------------------------------------------------------------------------------------

    def _tell_of(self, session: Session, looked: Looked) -> None:
        if looked.notice:
            self._say(looked.notice)
        if looked.reminder:
            unsaid = session.agent.reminders  # the others cannot be taken back any more
            self._reminders = [*(text for text in self._reminders if text in unsaid), looked.reminder]
            session.agent.remind(looked.reminder)

    def _say(self, text: str) -> None:
        if self._tell is not None:
            self._tell(text)

    def _say_failed(self, error: MewCodeError) -> None:
        """Once until it works again: what fails now may fail each time."""
        from mewcode.agent.noted_words import failure_words

        _LOG.info("nothing was noted: %s", error.message)
        if not self._told_failure:
            self._told_failure = True
            self._say(failure_words(error))
