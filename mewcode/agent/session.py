"""A session: an agent, its archive and all that lasts as long as they do. Front ends hold one of these."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.agent.agent import Agent
from mewcode.agent.background_work import EXIT_GRACE, BackgroundWork
from mewcode.agent.context_keeper import ContextKeeper
from mewcode.agent.continuing import (
    About,
    Archives,
    Opened,
    Resumed,
    Resumption,
    notes_of,
    open_aside,
    open_when_free,
    restored_todos,
)
from mewcode.agent.conversation import Conversation
from mewcode.agent.loop import Limits
from mewcode.agent.model_choice import choose_model
from mewcode.agent.news import News
from mewcode.agent.plan_mode import tell_of_mode
from mewcode.agent.ports import Compactor, Emit, NoteTaker, Policy, Prompt, SessionArchive
from mewcode.agent.run import Run
from mewcode.agent.safekeeping import Safekeeping
from mewcode.agent.service_in_use import ServiceInUse
from mewcode.agent.surroundings import Surroundings
from mewcode.agent.tool_runner import ToolRunner
from mewcode.core.access import Mode
from mewcode.core.errors import MewCodeError, SessionError
from mewcode.core.events import CompactReport
from mewcode.core.message import Image, Message, Usage
from mewcode.infra.supervisor import TaskScope
from mewcode.providers.base import Provider
from mewcode.providers.catalog import Catalog, ModelInfo
from mewcode.providers.registry import Service
from mewcode.providers.retry import RetryPolicy
from mewcode.sessions.record import Totals, reads_records, state_record, usage_record
from mewcode.sessions.settings import SessionSettings
from mewcode.tools.read_table import ReadTable

if TYPE_CHECKING:
    from mewcode.agent.noting import Noting

_LOG = logging.getLogger("mewcode.session")


class Session:
    """The parts, joined by the composition root; see `mewcode.assembly`.

    ``around`` is what it was started in, ``service`` the one it talks to; ``service_changed`` is told of
    another. ``known_models``: names that the services have listed so far, for completion.
    ``find_model`` gives a model's facts by name, ``archives`` other archives for `clear`, `resume` and
    `fork`, ``prompt`` makes the system prompt for a model's name and a session's. ``opened`` is the
    session that is continued from the start on, ``model`` is for a new one. ``resumed``: what is to be told
    of the session that was continued last, None for a new one. ``notes``: None where notes are off.
    """

    def __init__(
        self,
        *,
        provider: Provider,
        model: str | None,
        tools: ToolRunner,
        policy: Policy,
        catalog: Catalog,
        find_model: Callable[[str], ModelInfo],
        prompt: Prompt,
        work: BackgroundWork,
        archives: Archives,
        compactor: Compactor,
        settings: SessionSettings,
        around: Surroundings,
        service: Service,
        service_changed: Callable[[Service], None],
        news: News,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        opened: Opened | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.tools = tools
        self.policy = policy
        self.archive: SessionArchive
        self.notices = list(notices)
        self.notes: NoteTaker | None = None
        self.background = TaskScope("session")
        self.around = around
        self.in_use = ServiceInUse(provider, service, around, service_changed, self.background)
        self.known_models: tuple[str, ...] = ()
        self.news = news
        tools.touched = news.touched
        self._on_saving: Callable[[str | None], None] | None = None
        self._catalog = catalog
        self._find_model = find_model
        self.prompt = prompt
        self.work = work
        self._archives = archives
        self.keeper = ContextKeeper(self, compactor)
        self.settings = settings
        self._limits = limits
        self._retry = retry
        self.resumption: Resumption | None = None
        self.resumed: Resumed | None = None
        self.safekeeping = Safekeeping(self)
        if opened is None:
            news.begin()
            self.archive = archives.new(mode=policy.mode, model=model or "", provider=service.name)
            self.agent = self._agent((), None)
            if model:
                self._take_model(model)
        else:
            self._take_over(opened)
            self.notices += notes_of(opened, self.model)
        tell_of_mode(self.agent, policy.mode)

    def _take_model(self, name: str) -> None:
        self.agent.model = self._find_model(name)
        self.tools.session.vision = self.agent.model.vision

    def _agent(self, loaded: Sequence[Message], used: Totals | None, turns: int = 0) -> Agent:
        self.archive.on_state = self._saving_changed
        conversation = Conversation(self.archive, loaded, turns)
        if used is not None:
            conversation.usage.update(used.models)
        self._recorded = dict(conversation.usage)
        return Agent(
            session_id=self.archive.id,
            provider=self.provider,
            tools=self.tools,
            conversation=conversation,
            find_model=self._find_model,
            limits=self._limits,
            retry=self._retry,
            prepare=self._before_turn,
            finish=self._after_turn,
            keeper=self.keeper,
        )

    @property
    def on_saving(self) -> Callable[[str | None], None] | None:
        """Called when the archive begins or ceases to fail, with the reason or None. A front end sets it,
        and is told at once where the archive fails already."""
        return self._on_saving

    @on_saving.setter
    def on_saving(self, tell: Callable[[str | None], None] | None) -> None:
        self._on_saving = tell
        if tell is not None and self.archive.failing is not None:
            tell(self.archive.failing)

    def _saving_changed(self, failing: str | None) -> None:
        if self._on_saving is not None:
            self._on_saving(failing)

    @property
    def id(self) -> str:
        return self.archive.id

    @property
    def provider(self) -> Provider:
        """What the next request goes through."""
        return self.in_use.provider

    @property
    def service(self) -> Service:
        """What the session talks to."""
        return self.in_use.service

    @property
    def model(self) -> ModelInfo:
        """The model in use; without a name until `prepare` has chosen one."""
        return self.agent.model

    @property
    def noting(self) -> Noting | None:
        """See `BackgroundWork.noting`."""
        return self.work.noting

    @property
    def mode(self) -> Mode:
        return self.policy.mode

    async def prepare(self, emit: Emit | None = None, *, fits: bool = True) -> None:
        """Settles what the first request needs: the model, where none was named, the system prompt, and with
        ``fits`` that a continued conversation fits the model's window, which may take a request. Each turn
        does so itself; a front end may, to know earlier. Raises `ProviderError` and `NotConfigured`."""
        if not self.agent.model.name:
            self._take_model(await choose_model(self.provider, self._catalog))
        if not self.agent.system:
            self.agent.system = self.prompt.build(self.agent.model.name, self.id)
        if self.resumption is not None and fits:
            await self.keeper.fit(self.resumption, emit)

    async def _before_turn(self, said: str, emit: Emit) -> None:
        if (recalling := self.work.recalling) is not None:
            recalling.turn_begins(self, said)
        await self.prepare(emit)
        self.tools.begin_turn()
        await self.news.tell(self.agent, said)
        resumption, self.resumption = self.resumption, None
        if resumption is not None:
            await resumption.tell(self.agent, emit)

    def _after_turn(self) -> None:
        """Keeps what the model has read in this turn, so that a continued session knows it."""
        for record in reads_records(self.tools.session.reads.take_changes(), ts=time.time()):
            self.archive.append_record(record)
        self.work.turn_ended(self)

    async def warm(self) -> None:
        """Does ahead of the first turn what it would wait for: loads what a request needs, chooses the
        model. What fails here is said when the turn fails."""
        await asyncio.to_thread(self.provider.warm)
        try:
            await self.prepare()
        except MewCodeError as error:
            _LOG.info("the first turn will have to prepare itself: %s", error.message)

    def run(self, prompt: str, images: Sequence[Image] = ()) -> Run:
        """A turn of the agent."""
        return self.agent.run(prompt, images)

    async def reload(self) -> tuple[str, ...]:
        """Reads the instructions again. Gives the files that have changed; with any, the prompt is made anew
        for the next message. Called between turns: raises RuntimeError while one runs."""
        async with self.agent.at_rest():
            if names := await asyncio.to_thread(self.news.instructions.stale):
                self.agent.system = ()
        return names

    def use_model(self, name: str) -> ModelInfo:
        """Switches the model from the next request on. The prompt's text stays, so that its prefix holds."""
        self._take_model(name)
        self.archive.append_record(state_record(ts=time.time(), model=name))
        return self.agent.model

    def use_provider(self, service: Service, model: str) -> ModelInfo:
        """Switches to another service and a model of its, from the next request on. Tools and prompt stay;
        the old service's connections are closed. Called between turns."""
        self.agent.provider = self.in_use.turn_to(service)
        self._take_model(model)
        self.archive.append_record(state_record(ts=time.time(), model=model, provider=service.name))
        return self.agent.model

    async def ask_aside(self, question: str, emit: Emit) -> str:
        """The model's answer to a question that leaves no trace in the conversation; see `agent.aside`. May
        be called while a turn runs. Raises `ProviderError` and `NotConfigured`."""
        from mewcode.agent.aside import ask_aside

        await self.prepare()
        with self.in_use.held():
            return await ask_aside(self.agent, question, emit)

    def use_mode(self, mode: Mode) -> None:
        """Switches the permission mode; the model is told with the next message where it matters to it."""
        before, self.policy.mode = self.policy.mode, mode
        if mode == before:
            return
        self.archive.append_record(state_record(ts=time.time(), mode=mode))
        tell_of_mode(self.agent, mode, before)

    def clear(self) -> None:
        """Ends this conversation and begins another, with a prompt made anew. The old one stays archived."""
        self._leave()
        model = self.agent.model
        self.archive = self._archives.new(**self._about())
        self.agent = self._agent((), None)
        self.agent.model = model
        self.resumption = self.resumed = None
        self.news.begin()
        tell_of_mode(self.agent, self.mode)
        self.tools.session.todos.clear()
        self.tools.session.reads = ReadTable()

    async def resume(
        self, folder: Path, *, wait: float = 0.0, fork: bool = False, emit: Emit | None = None
    ) -> Resumed:
        """Ends this conversation and continues the session in ``folder``, with its model, mode, service, list
        of steps and table of read files; with ``fork`` a new session that begins with all of it, whoever
        holds it. Called between turns: raises RuntimeError while one runs.

        Waits up to ``wait`` seconds for a session that another process holds, then raises `SessionBusy`;
        `SessionError` where it cannot be continued, `ProviderError` where it cannot be made to fit the
        model's window, of which ``emit`` is told. Where it could not be opened, this one goes on as it was.
        """
        self._check_between_turns()
        if folder.resolve() == self.archive.folder.resolve():
            raise SessionError(f"session {self.id} is the one you are in")
        opened = await open_when_free(self._archives, folder, wait, fork=fork)
        self._check_between_turns(opened.archive)
        self._leave()
        self._take_over(opened)
        tell_of_mode(self.agent, self.mode)
        notes = notes_of(opened, self.model)
        if self.agent.model.name:
            await self.prepare(emit)
        left_out = self.resumption.take_left_out() if self.resumption is not None else ""
        return replace(Resumed.of(opened), notes=notes, left_out=left_out)

    async def fork(self) -> tuple[str, str]:
        """Goes on in a new session that begins with all of this one, which stays as it is. Gives the ids of
        both, the old one first. Raises `SessionError` where this one is not saved as a whole, RuntimeError
        while a turn runs."""
        self._check_between_turns()
        if not self.agent.conversation.messages:
            raise SessionError("there is nothing to fork yet")
        if not self.archive.flush():
            raise SessionError(f"this session cannot be forked: it is {self.archive.failing}")
        old, at = self.archive, self.archive.head
        used, turns = Totals(self.usage_by_model, self.agent.cost_usd), self.agent.conversation.sure_turns
        forked = await open_aside(
            lambda: self._archives.fork(old.folder, at, used, turns, **self._about()), SessionArchive.close
        )
        self._check_between_turns(forked)
        self._leave()
        self.archive, self.agent.session_id = forked, forked.id
        forked.on_state = self._saving_changed
        self.agent.conversation.move_to(forked)
        return old.id, forked.id

    def _about(self) -> About:
        return {"mode": self.mode, "model": self.agent.model.name, "provider": self.service.name}

    def _check_between_turns(self, opened: SessionArchive | None = None) -> None:
        if self.agent.is_running:
            if opened is not None:
                opened.close()
            raise RuntimeError("a turn is running")

    def _leave(self) -> None:
        """Ends the use of the archive: what is still to be said of the session is written to it first."""
        self._record_usage()
        self.archive.close()
        self.work.left(self, self.archive.folder)

    def _take_over(self, opened: Opened) -> None:
        """Makes the session what it was when it was left."""
        loaded = opened.loaded
        self.archive, self.resumed = opened.archive, Resumed.of(opened)
        self.work.entered(loaded, is_fork=self.archive.id != loaded.id)
        if opened.service is not None and opened.service != self.service:
            self.in_use.turn_to(opened.service)
        self.policy.mode = opened.mode
        self.agent = self._agent(loaded.messages, loaded.totals, loaded.sure_turns)
        if opened.model:
            self._take_model(opened.model)
        self.tools.session.todos[:] = restored_todos(loaded.messages)
        self.tools.session.reads = ReadTable.restore(loaded.reads)
        self.resumption = Resumption.begin(opened, self.settings, self.around)

    def find_model(self, name: str) -> ModelInfo:
        """What is known of a model."""
        return self._find_model(name)

    @property
    def context_tokens(self) -> int:
        """Tokens of the next request, as far as is known; 0 before the first. Takes microseconds."""
        return self.keeper.used if self.agent.conversation.messages else 0

    async def compact(self, keep: str, emit: Emit) -> CompactReport:
        """See `ContextKeeper.compact`."""
        return await self.keeper.compact(keep, emit)

    @property
    def usage_by_model(self) -> dict[str, Usage]:
        return dict(self.agent.conversation.usage)

    def _record_usage(self) -> None:
        usage = self.agent.conversation.usage
        if usage != self._recorded:
            self._recorded = dict(usage)
            totals, turns = Totals(dict(usage), self.agent.cost_usd), self.agent.conversation.sure_turns
            self.archive.append_record(usage_record(totals, ts=time.time(), turns=turns), sync=True)

    async def aclose(self) -> None:
        """Saves, ends children and background work, lets go of the session. May be called once."""
        self._record_usage()
        self.archive.flush()
        self.work.ending(self)
        try:
            await self.background.close(grace=EXIT_GRACE)
            self._record_usage()  # also what the last side calls used
            await self.safekeeping.aclose()
            await asyncio.gather(self.tools.session.shell.aclose(), self.provider.aclose())
        finally:
            self.archive.close()
            self.work.ended(self)
