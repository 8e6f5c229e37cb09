"""Keeps the notes in order: finds out when they are to be tidied up, has a model asked, and carries out what
may come of it as one change.

All of it works on a copy. Nothing is written before the last answer is there, and then what was changed
meanwhile wins; an end before that leaves the notes as they are.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.core.errors import MewCodeError, NoteError, ProviderError

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.infra.stoppable import Stop
    from mewcode.memory.note import Level
    from mewcode.memory.store import NoteStore
    from mewcode.memory.tidy.copy import Copy, Item
    from mewcode.memory.tidy.plan import Plan, Planned
    from mewcode.memory.tidy.report import TidyReport
    from mewcode.memory.tidy.turn import Turn

_LOG = logging.getLogger("mewcode.memory")

TIME_LIMIT = 120.0
"""Seconds for the answer to one question."""
_LIVENESS = 20.0
"""Seconds for all notes of a level to be held against the work tree."""
_TASK = "tidy"
_SESSION = re.compile(r"\d{8}-\d{6}-")


@dataclass(frozen=True, slots=True)
class TidyWaits:
    """Seconds from the start until it is seen whether the notes are to be tidied up, and until that is seen
    again; ``busy``: where a turn runs."""

    first: float = 60.0
    again: float = 6 * 3600.0
    busy: float = 10.0


class Tidying:
    """Belongs to one session. None of the methods raises, none takes time. ``tell`` shows a line."""

    def __init__(self, waits: TidyWaits | None = None) -> None:
        self._waits = waits or TidyWaits()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def attend(self, session: Session, tell: Callable[[str], None]) -> None:
        """A person is there: from now on the notes are tidied up when it is time."""
        self._later(self._waits.first, session, tell)

    def stop(self) -> None:
        """The session ends, or its user wants no notes: what is under way comes to nothing."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _later(self, delay: float, session: Session, tell: Callable[[str], None]) -> None:
        self._timer = asyncio.get_running_loop().call_later(delay, self._begin, session, tell)

    def _begin(self, session: Session, tell: Callable[[str], None]) -> None:
        if session.agent.is_running:
            self._later(self._waits.busy, session, tell)
            return
        self._task = session.background.start(_TASK, self._tidy(session, tell))
        self._later(self._waits.again, session, tell)

    async def _tidy(self, session: Session, tell: Callable[[str], None]) -> None:
        try:
            report = await tidy(session, busy=self._waits.busy)
        except MewCodeError as error:
            _LOG.info("the notes are not tidied up: %s", error.message)
            return
        if report.reason:
            _LOG.info("the notes are tidied up in part, or not at all: %s", report.reason)
        if report.notice:
            tell(report.notice)


async def tidy(
    session: Session, *, force: bool = False, busy: float = 0.0, clock: Callable[[], float] = time.time
) -> TidyReport:
    """Tidies up the levels for which it is time; with ``force`` all of them, and each note. Waits for
    ``busy`` seconds at a time while a turn runs, unless it is 0. Where the model cannot be asked, or today's
    budget does not suffice, what was found until then is done, and `TidyReport.reason` says so. When
    cancelled, nothing is done. Raises NoteError where notes are off or the disk refuses."""
    from mewcode.infra.stoppable import in_stoppable_thread

    noting, notes = session.noting, session.notes
    if noting is None or notes is None or noting.is_off:
        raise NoteError("notes are off")
    store = await in_stoppable_thread(_TASK, lambda stop: notes.store())
    return await _Tidy(session, store, force=force, busy=busy, clock=clock).run()


class _Tidy:
    """One use."""

    def __init__(
        self, session: Session, store: NoteStore, *, force: bool, busy: float, clock: Callable[[], float]
    ) -> None:
        from mewcode.core.ids import new_id

        self._session = session
        self._store = store
        self._force = force
        self._busy = busy
        self._clock = clock
        self._holder = f"{os.getpid()}-{new_id(8)}"
        self._turns: dict[Level, Turn] = {}
        self._reason = ""

    async def run(self) -> TidyReport:
        from mewcode.infra.stoppable import in_stoppable_thread
        from mewcode.memory.tidy.report import TidyReport

        self._turns = await in_stoppable_thread(_TASK, self._take_turns)
        if not self._turns:
            return TidyReport(reason=self._reason)
        done = False
        try:
            planned: list[Planned] = []
            problems: list[str] = []
            for level, turn in self._turns.items():
                copy = await in_stoppable_thread(_TASK, partial(self._copy, level))
                plan = await self._plan(copy, turn.last)
                planned += [*plan.requests(), *self._rest(copy, plan)]
                problems += plan.problems
            report = await in_stoppable_thread(_TASK, lambda stop: self._carry_out(planned, problems, stop))
            done = not self._reason
            return report
        finally:
            await in_stoppable_thread(_TASK, lambda stop: self._end_turns(done))

    def _take_turns(self, stop: Stop) -> dict[Level, Turn]:
        """The levels to be tidied up, each ours now, as they were found."""
        from mewcode.memory.tidy.copy import new_notes
        from mewcode.memory.tidy.turn import read_turn, take_turn

        now = self._clock()
        found: dict[Level, Turn] = {}
        self._reason = "there are no notes yet"
        for level, shelf in self._store.levels.items():
            look = shelf.look()
            if stop() or not any(entry.state(now) == "live" for entry in look.entries.values()):
                continue
            turn = read_turn(shelf.folder, now)
            sessions = _sessions_since(self._session, level, turn.last)
            new = new_notes(list(look.entries.values()), turn.last, now)
            if not self._force and not turn.is_due(now=now, sessions=sessions, notes=new):
                self._reason = "it is not time yet"
            elif take_turn(shelf.folder, self._holder, now):
                found[level] = turn
            else:
                self._reason = "another process is at it"
        self._reason = "" if found else self._reason
        return found

    def _keep_turns(self) -> bool:
        """Whether all are ours still, and for longer now."""
        from mewcode.memory.tidy.turn import take_turn

        folders = [self._store.levels[level].folder for level in self._turns]
        return all(take_turn(folder, self._holder, self._clock()) for folder in folders)

    def _end_turns(self, done: bool) -> None:
        from mewcode.memory.tidy.turn import end_turn

        for level in self._turns:
            try:
                end_turn(self._store.levels[level].folder, self._holder, self._clock(), done=done)
            except NoteError as error:  # then it ends by itself
                _LOG.info("the end of a tidy is not recorded: %s", error.message)

    def _copy(self, level: Level, stop: Stop) -> Copy:
        from mewcode.agent.work_tree import work_tree_of
        from mewcode.memory.liveness import check_notes
        from mewcode.memory.tidy.copy import copy_of

        tree = work_tree_of(self._session.around, fresh=_LIVENESS)
        return copy_of(
            self._store, level, self._clock(), lambda notes: check_notes(notes, tree, _LIVENESS, stop)
        )

    async def _plan(self, copy: Copy, since: float) -> Plan:
        """Asks about the notes of a level, question by question."""
        from mewcode.agent.note_call import BudgetSpent
        from mewcode.infra.stoppable import in_stoppable_thread
        from mewcode.memory.tidy.batches import batches
        from mewcode.memory.tidy.plan import Plan

        plan = Plan(self._clock())
        asked = await in_stoppable_thread(
            _TASK, lambda stop: batches(copy.items, since, everything=self._force)
        )
        for batch in asked if not self._reason else ():
            await self._while_busy()
            try:
                await self._ask(batch, plan)
            except BudgetSpent:
                self._reason = "today's tokens for notes are spent"
            except ProviderError as error:
                self._reason = f"the model could not be asked: {error.message}"
            if self._reason:
                break
        return plan

    async def _ask(self, batch: tuple[Item, ...], plan: Plan) -> None:
        from mewcode.agent.note_call import note_call
        from mewcode.infra.stoppable import in_stoppable_thread
        from mewcode.memory.tidy.question import MOST_OUTPUT, SCHEMA, labelled, tidy_question, tidy_words
        from mewcode.memory.tidy.reply import read_answer

        session, noting = self._session, self._session.noting
        if noting is None or noting.is_off:
            raise NoteError("notes are off")
        if not await in_stoppable_thread(_TASK, lambda stop: self._keep_turns()):
            raise NoteError("another process took the turn")
        items = labelled(batch)
        await session.prepare(fits=False)
        text = await note_call(
            session,
            noting.model_for(session),
            noting.budget,
            tidy_words(),
            tidy_question(items, self._clock()),
            schema=SCHEMA,
            limit=TIME_LIMIT,
            most_output=MOST_OUTPUT,
        )
        answer = read_answer(text)
        plan.problems += answer.problems
        plan.add(answer.actions, items)

    async def _while_busy(self) -> None:
        """Waits while a turn runs, and keeps ours."""
        from mewcode.infra.stoppable import in_stoppable_thread

        while self._busy and self._session.agent.is_running:
            await asyncio.sleep(self._busy)
            await in_stoppable_thread(_TASK, lambda stop: self._keep_turns())

    def _rest(self, copy: Copy, plan: Plan) -> list[Planned]:
        """The notes of a level that are put at rest."""
        from mewcode.memory.changes import Archive, Ref
        from mewcode.memory.tidy.plan import Planned
        from mewcode.memory.tidy.worth import Counted, at_rest

        digests = {item.file: item.digest for item in copy.items}
        counted = [Counted(item.entry, item.use) for item in copy.items if item.file not in plan.closed]
        counted += [Counted(entry) for entry in copy.unread]
        chosen = at_rest(
            counted,
            most=self._session.around.loaded.config.memory.max_notes,
            now=self._clock(),
            since=copy.since,
            spare=plan.touched | {entry.file for entry in copy.unread},
        )
        return [
            Planned(("archived",), Archive(Ref(copy.level, entry.file, digests[entry.file])))
            for entry in chosen
        ]

    def _carry_out(self, planned: list[Planned], problems: list[str], stop: Stop) -> TidyReport:
        from mewcode.memory.tidy.report import TidyReport, carried_out

        noting = self._session.noting
        if stop() or noting is None or noting.is_off:
            return TidyReport(reason="it was stopped")
        return carried_out(self._store, planned, problems, self._reason)


def _sessions_since(session: Session, level: Level, since: float) -> int:
    """How many sessions began since then: of this repository for its notes, of all known workspaces for the
    user's; no more are counted than it takes."""
    from mewcode.memory.tidy.turn import LEAST_SESSIONS

    begin = time.strftime("%Y%m%d-%H%M%S", time.localtime(since))
    count = 0
    for folder in _session_folders(session, level):
        with suppress(OSError), os.scandir(folder) as entries:  # most known workspaces have none
            for entry in entries:
                count += bool(_SESSION.match(entry.name)) and entry.name > begin
                if count >= LEAST_SESSIONS:
                    return count
    return count


def _session_folders(session: Session, level: Level) -> Iterator[Path]:
    from mewcode.sessions.workspaces import known_roots, work_trees, workspace_of

    places = session.around.places
    yield places.project / "sessions"
    roots = known_roots(places.user) if level == "user" else work_trees(places.root)
    for root in roots:
        if root != places.root:
            yield workspace_of(root, places.user).sessions_dir
