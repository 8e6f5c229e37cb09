"""What goes on beside a session, for which nobody waits: its title, briefs, the daily upkeep of the archive.

Without a front end that says `BackgroundWork.attend`, a session asks no model for anything but its turns: it
only leaves a brief behind that needs none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mewcode.core.errors import MewCodeError, SessionError
from mewcode.core.message import Message
from mewcode.infra.stoppable import Stop, in_stoppable_thread
from mewcode.sessions.settings import SessionSettings

if TYPE_CHECKING:
    from mewcode.agent.noting import Noting
    from mewcode.agent.ports import SessionArchive
    from mewcode.agent.recalling import Recalling
    from mewcode.agent.session import Session
    from mewcode.providers.catalog import ModelInfo
    from mewcode.providers.registry import Service
    from mewcode.sessions.briefs import IsOurs
    from mewcode.sessions.reader import LoadedSession

_LOG = logging.getLogger("mewcode.session")

EXIT_GRACE = 0.5
"""Seconds that the end of a session may take for what is still under way."""
LEAST_TURNS = 3
"""The user's messages of a session that gets a brief: one of fewer says it all in its title."""
_PAST = 5
"""Sessions that get their brief later, at most, in one run."""
_PAST_DAYS = 30.0
_DIGEST_TOKENS = 20_000
"""Estimated tokens of a session's end that are read for its brief: more than is shown to the model, since
what tools gave is left out."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds from the start until documents are indexed, past sessions get their briefs and the upkeep is
    done, and until either of these two is looked at again. ``catalogue``: from the end of a turn until the
    catalogue of sessions is brought up to date."""

    index: float = 2.0
    briefs: float = 5.0
    upkeep: float = 10.0
    catalogue: float = 3.0
    busy: float = 5.0
    next_day: float = 6 * 3600.0


@dataclass(slots=True)
class _Here:
    """The conversation at hand. ``turns``: the user's messages before those in memory; ``new``: turns taken
    since it was opened."""

    turns: int = 0
    new: int = 0
    title: str = ""
    titled: bool = False


@dataclass(frozen=True, slots=True)
class _Past:
    """A session of before: its end. ``has_brief``: one that no model wrote."""

    id: str
    title: str
    messages: tuple[Message, ...]
    has_brief: bool


class BackgroundWork:
    """Belongs to one session, which says what happens. None of the methods raises; none takes longer than to
    write a record. ``is_ours``: see `sessions.briefs`; ``small_model``: the one for side calls at a service,
    None for the session's own. ``make_noting`` and ``make_recalling``: None where notes are off;
    ``index_documents`` begins to do so, and is None where there are none."""

    def __init__(
        self,
        settings: SessionSettings,
        sessions_dir: Path,
        is_ours: IsOurs,
        small_model: Callable[[Service], ModelInfo | None],
        waits: Waits | None = None,
        clock: Callable[[], float] = time.time,
        make_noting: Callable[[], Noting] | None = None,
        index_documents: Callable[[], asyncio.Task[Any]] | None = None,
        make_recalling: Callable[[], Recalling | None] | None = None,
    ) -> None:
        self._make_recalling = make_recalling
        self._recalling: Recalling | None = None
        self._index_documents = index_documents
        self._make_noting = make_noting
        self._noting: Noting | None = None
        self._entered: tuple[LoadedSession, bool] | None = None
        self._settings = settings
        self._dir = sessions_dir
        self._is_ours = is_ours
        self._small_model = small_model
        self._waits = waits or Waits()
        self._clock = clock
        self._here = _Here()
        self._attended = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._quickest = float("inf")

    @property
    def noting(self) -> Noting | None:
        """Takes notes of the same session, and is told what happens in it; None where notes are off. Made
        when it is first asked for: a run without a terminal needs none."""
        if self._noting is None and self._make_noting is not None:
            self._noting = self._make_noting()
            if self._entered is not None:
                self._noting.entered(*self._entered)
                self._entered = None
        return self._noting

    @property
    def recalling(self) -> Recalling | None:
        """Reminds of notes in the same session; None where they are off, and as long as there are none."""
        if self._recalling is None and self._make_recalling is not None:
            self._recalling = self._make_recalling()
        return self._recalling

    def attend(self, session: Session, refresh: Callable[[], object] = lambda: None) -> None:
        """A person is there: from now on models are asked for titles and briefs, and the archive is kept in
        order. Called once, by a front end, in the event loop; ``refresh`` shows anew what is under way."""
        self._attended = True
        if self._settings.briefs:
            self._later("briefs", self._waits.briefs, session, self._brief_past)
        if self._settings.prune:
            self._later("upkeep", self._waits.upkeep, session, self._keep_up)
        if self._index_documents is not None:
            self._later("index", self._waits.index, session, partial(self._begin_index, refresh))
        if (recalling := self.recalling) is not None:
            recalling.attend(session)

    def entered(self, loaded: LoadedSession, *, is_fork: bool = False) -> None:
        """The session goes on with this conversation, or with ``is_fork`` with a copy of it."""
        if self._noting is not None:
            self._noting.entered(loaded, is_fork)
        else:
            self._entered = loaded, is_fork
        in_memory = _turns_in(loaded.messages)
        before = max(0, loaded.turns - in_memory)
        titled = bool(loaded.title) or "title" in loaded.unknown  # in what was not read it may have one
        self._here = _Here(turns=before, title=loaded.title, titled=titled)

    def side_model(self, session: Session) -> ModelInfo:
        """The model for what is asked beside the conversation."""
        return self._small_model(session.service) or session.model

    def summed_up(self, session: Session, before: Sequence[Message], begun: Sequence[Message]) -> None:
        """The conversation was ``before`` and begins anew with ``begun``."""
        self._here.turns += _turns_in(before) - _turns_in(begun)
        if self._noting is not None:
            self._noting.summed_up(session, before, begun)

    def turn_ended(self, session: Session) -> None:
        """Called at the end of each turn."""
        self._here.new += 1
        if self._noting is not None:
            self._noting.turn_ended(session)
        if self._attended and self._recalling is not None:
            self._recalling.turn_ended(session)
        if self._attended:
            self._catalogue_soon(session)
        if not (self._attended and self._settings.titles) or self._here.titled:
            return
        from mewcode.agent.titles import title_question

        if question := title_question(session.agent.conversation.messages):
            self._here.titled = True
            self._start("title", session, self._name(session, session.archive, self._here, question))

    def left(self, session: Session, folder: Path) -> None:
        """The session has let go of the conversation in ``folder``, which is closed, and goes on with
        another; its messages are still at hand."""
        if self._noting is not None:
            self._noting.left(session, folder)
        here, self._here = self._here, _Here()
        messages = tuple(session.agent.conversation.messages)
        if self._wants_brief(here, messages):
            self._keep_plain(folder, here, messages)
            if self._attended:
                self._start("brief", session, self._brief(session, folder, here, messages))

    def ending(self, session: Session) -> None:
        """The session ends: what it need not wait for is stopped. A model is asked for a brief only where one
        has answered within the time that there is."""
        if self._noting is not None:
            self._noting.ending()
        if self._recalling is not None:
            self._recalling.ending(session)
        for timer in self._timers.values():
            timer.cancel()
        for name in ("briefs", "upkeep", "catalogue", "index"):
            if name in self._tasks:
                self._tasks[name].cancel()
        messages = tuple(session.agent.conversation.messages)
        if self._attended and self._quickest < EXIT_GRACE and self._wants_brief(self._here, messages):
            folder = session.archive.folder
            self._start("last brief", session, self._brief(session, folder, self._here, messages))

    def ended(self, session: Session) -> None:
        """All tasks have ended, and the archive is closed."""
        if self._noting is not None:
            self._noting.ended(session)
        messages = tuple(session.agent.conversation.messages)
        if self._wants_brief(self._here, messages):
            self._keep_plain(session.archive.folder, self._here, messages)

    def _wants_brief(self, here: _Here, messages: Sequence[Message]) -> bool:
        is_long = here.turns + _turns_in(messages) >= LEAST_TURNS
        return self._settings.briefs and here.new > 0 and is_long

    def _later(self, name: str, delay: float, session: Session, work: Callable[[Session], object]) -> None:
        """A timer, not a task that sleeps: nothing has to be waited for at the end."""
        self._timers[name] = asyncio.get_running_loop().call_later(delay, work, session)

    def _start(self, name: str, session: Session, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[name] = session.background.start(name, work)

    def _brief_past(self, session: Session) -> None:
        if session.agent.is_running:
            self._later("briefs", self._waits.busy, session, self._brief_past)
        else:
            self._start("briefs", session, self._past_briefs(session))

    def _catalogue_soon(self, session: Session) -> None:
        if (waiting := self._timers.get("catalogue")) is not None:
            waiting.cancel()  # turns that follow each other quickly are entered together
        self._later("catalogue", self._waits.catalogue, session, self._catalogue)

    def _catalogue(self, session: Session) -> None:
        under_way = self._tasks.get("catalogue")
        if session.agent.is_running or (under_way is not None and not under_way.done()):
            self._later("catalogue", self._waits.busy, session, self._catalogue)
        else:
            self._start("catalogue", session, self._update_catalogue(session))

    async def _update_catalogue(self, session: Session) -> None:
        """So that a picker opened later has all at once."""
        from mewcode.sessions.browse import update

        places = session.around.places
        await in_stoppable_thread("catalogue", lambda stop: update(places, stop))

    def _begin_index(self, refresh: Callable[[], object], _session: Session) -> None:
        assert self._index_documents is not None
        self._tasks["index"] = task = self._index_documents()
        task.add_done_callback(lambda _: refresh())
        refresh()

    def _keep_up(self, session: Session) -> None:
        self._start("upkeep", session, self._upkeep(session))
        self._later("upkeep", self._waits.next_day, session, self._keep_up)

    async def _ask(self, session: Session, system: str, question: str) -> tuple[str, str]:
        """The answer to a side call, and the model that gave it. Raises `MewCodeError`."""
        from mewcode.agent.side_call import side_call

        await session.prepare()
        model = self.side_model(session)
        began = time.monotonic()
        with session.in_use.held() as provider:
            answer = await side_call(provider, model, system, question, session.agent.conversation.count)
        self._quickest = min(self._quickest, time.monotonic() - began)
        return answer, model.name

    async def _name(self, session: Session, archive: SessionArchive, here: _Here, question: str) -> None:
        from mewcode.agent.titles import TITLE_WORDS, read_title
        from mewcode.sessions.briefs import is_named
        from mewcode.sessions.labels import add_label
        from mewcode.sessions.record import title_record

        try:
            if is_named(archive.folder):
                return
            answer, _ = await self._ask(session, TITLE_WORDS, question)
            if not (title := read_title(answer)):
                return
            here.title = title
            record = title_record(title, ts=self._clock(), auto=True)
            if session.archive is archive:
                archive.append_record(record)
            else:  # closed meanwhile
                add_label(archive.folder, record)
        except MewCodeError as error:
            _LOG.info("the session gets no title: %s", error.message)

    async def _brief(self, session: Session, folder: Path, here: _Here, messages: Sequence[Message]) -> None:
        if await self._model_brief(session, folder, self._title_of(folder, here), messages):
            here.new = 0

    def _title_of(self, folder: Path, here: _Here) -> str:
        from mewcode.sessions.briefs import known_title

        return known_title(folder) or here.title

    async def _model_brief(
        self, session: Session, folder: Path, title: str, messages: Sequence[Message]
    ) -> bool:
        """Whether a model wrote a brief, and it was kept."""
        from mewcode.agent.briefs import BRIEF_WORDS, brief_question, read_brief

        try:
            answer, model = await self._ask(session, BRIEF_WORDS, brief_question(title, messages))
            text = read_brief(answer)
            return bool(text) and self._keep(folder, text, model)
        except MewCodeError as error:
            _LOG.info("no model writes the brief of session %s: %s", folder.name, error.message)
            return False

    def _keep_plain(self, folder: Path, here: _Here, messages: Sequence[Message]) -> None:
        from mewcode.agent.briefs import plain_brief

        if self._keep(folder, plain_brief(self._title_of(folder, here), messages), ""):
            here.new = 0

    def _keep(self, folder: Path, text: str, by: str) -> bool:
        from mewcode.sessions.briefs import keep_brief

        try:
            keep_brief(folder, text, ts=self._clock(), by=by)
        except SessionError as error:
            _LOG.info("a brief is not kept: %s", error.message)
            return False
        return True

    async def _past_briefs(self, session: Session) -> None:
        """Briefs for sessions that ended without one, or with one that no model wrote."""
        from mewcode.agent.briefs import plain_brief

        tried: set[str] = set()
        asks = True
        while len(tried) < _PAST:
            search = partial(self._next_past, session.id, frozenset(tried), asks)
            found = await in_stoppable_thread("briefs", search)
            if found is None:
                return
            tried.add(found.id)
            folder = self._dir / found.id
            if asks:
                asks = await self._model_brief(session, folder, found.title, found.messages)
            if not asks and not found.has_brief:
                self._keep(folder, plain_brief(found.title, found.messages), "")

    def _next_past(self, session_id: str, tried: Collection[str], improves: bool, stop: Stop) -> _Past | None:
        from mewcode.sessions.briefs import brief_state, index_briefs, known_title, without_brief
        from mewcode.sessions.lock import held_by
        from mewcode.sessions.reader import load_session

        if not tried:
            index_briefs(self._dir)
        since = self._clock() - _PAST_DAYS * 86_400
        for folder in without_brief(
            self._dir, session_id, self._is_ours, since=since, improves=improves, stop=stop
        ):
            if folder.name in tried or held_by(folder) is not None:
                continue
            try:
                loaded = load_session(folder, tokens=_DIGEST_TOKENS)
            except SessionError as error:
                _LOG.info("no brief: %s", error.message)
                continue
            if loaded.turns >= LEAST_TURNS:
                has_brief = brief_state(folder) is not None
                return _Past(folder.name, known_title(folder), tuple(loaded.messages), has_brief)
        return None

    async def _upkeep(self, session: Session) -> None:
        from mewcode.sessions.upkeep import daily_upkeep

        rule, spare = self._settings, session.id
        try:
            await in_stoppable_thread(
                "upkeep",
                lambda stop: daily_upkeep(self._dir, rule, spare=spare, stop=stop, clock=self._clock),
            )
        except OSError as error:  # a folder that cannot be written has nothing that could be removed
            _LOG.info("no daily upkeep: %s", error.strerror or error)


def _turns_in(messages: Sequence[Message]) -> int:
    return sum(message.is_said for message in messages)
