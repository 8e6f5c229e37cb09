"""A session: an agent, its archive and all that lasts as long as they do. Front ends hold one of these."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from mewcode.agent.agent import Agent
from mewcode.agent.conversation import Conversation
from mewcode.agent.loop import Limits
from mewcode.agent.ports import Emit, Policy
from mewcode.agent.run import Run
from mewcode.agent.surroundings import Surroundings
from mewcode.agent.tool_runner import ToolRunner
from mewcode.core.access import Mode
from mewcode.core.errors import MewCodeError, NotConfigured, ProviderError
from mewcode.core.message import Image, Message, Usage
from mewcode.infra.supervisor import TaskScope
from mewcode.providers.base import Provider
from mewcode.providers.catalog import Catalog, ModelInfo
from mewcode.providers.registry import Service
from mewcode.providers.retry import RetryPolicy
from mewcode.sessions.record import Totals, state_record, usage_record
from mewcode.tools.read_table import ReadTable

_LOG = logging.getLogger("mewcode.session")

# Nobody sees these waits: fewer and shorter than a request's.
_LISTING = RetryPolicy(max_attempts=4, base=0.5)

_PLAN_ON = (
    "Plan mode is on: look around and think, change nothing. Calls that write are refused. When you know "
    "enough, present a plan in a few steps and stop; the user will say whether to go on."
)
_PLAN_OFF = "Plan mode is off: tools that change things are available again."


class SessionArchive(Protocol):
    """`agent.ports.Archive` and what a session needs beyond: none of it raises because of a disk."""

    failing: str | None
    on_state: Callable[[str | None], None] | None

    @property
    def id(self) -> str: ...

    @property
    def folder(self) -> Path: ...

    def append(self, message: Message, *, sync: bool = False) -> None: ...

    def append_record(self, record: dict[str, Any], *, sync: bool = False) -> None: ...

    def flush(self) -> bool: ...

    def close(self) -> None: ...


class Session:
    """The parts, joined by the composition root; see `mewcode.assembly`.

    ``around`` is what it was started in, ``service`` the one it talks to; ``service_changed`` is told of
    another. ``known_models``: names that the services have listed so far, for completion.
    ``find_model`` gives a model's facts by name, ``new_archive`` a fresh archive for `clear`,
    ``build_system`` renders the system prompt for a model's name.
    """

    def __init__(
        self,
        *,
        provider: Provider,
        model: str | None,
        tools: ToolRunner,
        policy: Policy,
        archive: SessionArchive,
        catalog: Catalog,
        find_model: Callable[[str], ModelInfo],
        build_system: Callable[[str], tuple[str, ...]],
        new_archive: Callable[[], SessionArchive],
        around: Surroundings,
        service: Service,
        service_changed: Callable[[Service], None],
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        loaded: Sequence[Message] = (),
        used: Totals | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.provider = provider
        self.tools = tools
        self.policy = policy
        self.archive = archive
        self.notices = list(notices)
        self.background = TaskScope("session")
        self.around = around
        self.service = service
        self.known_models: tuple[str, ...] = ()
        self._service_changed = service_changed
        self._asides: set[asyncio.Future[None]] = set()
        self._on_saving: Callable[[str | None], None] | None = None
        self._catalog = catalog
        self._find_model = find_model
        self._build_system = build_system
        self._new_archive = new_archive
        self._limits = limits
        self._retry = retry
        self.agent = self._agent(loaded, used)
        if model:
            self._take_model(model)

    def _take_model(self, name: str) -> None:
        self.agent.model = self._find_model(name)
        self.tools.session.vision = self.agent.model.vision

    def _agent(self, loaded: Sequence[Message], used: Totals | None) -> Agent:
        self.archive.on_state = self._saving_changed
        conversation = Conversation(self.archive, loaded)
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
            prepare=self.prepare,
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
    def model(self) -> ModelInfo:
        """The model in use; without a name until `prepare` has chosen one."""
        return self.agent.model

    @property
    def mode(self) -> Mode:
        return self.policy.mode

    async def prepare(self) -> None:
        """Settles what the first request needs: the model, where none was named, and the system prompt.
        Each turn does so itself; a front end may, to know earlier. Raises `ProviderError` and
        `NotConfigured`."""
        if not self.agent.model.name:
            self._take_model(await self._choose_model())
        if not self.agent.system:
            self.agent.system = self._build_system(self.agent.model.name)

    async def warm(self) -> None:
        """Does ahead of the first turn what it would wait for: loads what a request needs, chooses the
        model. What fails here is said when the turn fails."""
        await asyncio.to_thread(self.provider.warm)
        try:
            await self.prepare()
        except MewCodeError as error:
            _LOG.info("the first turn will have to prepare itself: %s", error.message)

    async def _choose_model(self) -> str:
        offered = await self._offered()
        if not offered:
            raise NotConfigured(
                "the service offers no model", "Name one with --model, or load one into the local server."
            )
        preferred = [name for name in self._catalog.names() if name in offered]
        return preferred[0] if preferred else offered[0]

    async def _offered(self) -> tuple[str, ...]:
        """The models that the service lists; asked again, as requests are, when it is not there."""
        for attempt in range(1, _LISTING.max_attempts + 1):
            try:
                return await self.provider.list_models()
            except ProviderError as error:
                wait = _LISTING.delay(attempt, error)
                if wait is None:
                    raise
                await asyncio.sleep(wait)
        return ()

    def run(self, prompt: str, images: Sequence[Image] = ()) -> Run:
        """A turn of the agent."""
        return self.agent.run(prompt, images)

    def use_model(self, name: str) -> ModelInfo:
        """Switches the model from the next request on. The prompt's text stays, so that its prefix holds."""
        self._take_model(name)
        self.archive.append_record(state_record(ts=time.time(), model=name))
        return self.agent.model

    def use_provider(self, service: Service, model: str) -> ModelInfo:
        """Switches to another service and a model of its, from the next request on. Tools and prompt stay;
        the old service's connections are closed. Called between turns."""
        old, self.provider = self.provider, self.around.make(service)
        self.agent.provider, self.service = self.provider, service
        self._service_changed(service)
        self._take_model(model)
        self.archive.append_record(state_record(ts=time.time(), model=model, provider=service.name))
        self.background.start("close provider", self._close(old, set(self._asides)))
        return self.agent.model

    async def _close(self, old: Provider, asides: set[asyncio.Future[None]]) -> None:
        """Closes a provider once the questions aside that it answers are done with."""
        try:
            for aside in asides:
                await aside
        finally:
            await old.aclose()

    async def ask_aside(self, question: str, emit: Emit) -> str:
        """The model's answer to a question that leaves no trace in the conversation; see `agent.aside`. May
        be called while a turn runs. Raises `ProviderError` and `NotConfigured`."""
        from mewcode.agent.aside import ask_aside

        await self.prepare()
        ended = asyncio.get_running_loop().create_future()
        self._asides.add(ended)
        try:
            return await ask_aside(self.agent, question, emit)
        finally:
            self._asides.discard(ended)
            ended.set_result(None)

    def use_mode(self, mode: Mode) -> None:
        """Switches the permission mode; the model is told with the next message where it matters to it."""
        before, self.policy.mode = self.policy.mode, mode
        if mode == before:
            return
        self.archive.append_record(state_record(ts=time.time(), mode=mode))
        if before == "plan" and self.agent.take_back(_PLAN_ON):
            return  # the model was never told of it
        self.remind_of_plan()
        if before == "plan":
            self.agent.remind(_PLAN_OFF)

    def remind_of_plan(self) -> None:
        """Tells the model of plan mode where it is on; called where a conversation begins in it."""
        if self.mode == "plan":
            self.agent.remind(_PLAN_ON)

    def clear(self) -> None:
        """Ends this conversation and begins another, with a prompt made anew. The old one stays archived."""
        self._record_usage()
        self.archive.close()
        model = self.agent.model
        self.archive = self._new_archive()
        self.agent = self._agent((), None)
        self.agent.model = model
        self.remind_of_plan()
        self.tools.session.todos.clear()
        self.tools.session.reads = ReadTable()

    def find_model(self, name: str) -> ModelInfo:
        """What is known of a model."""
        return self._find_model(name)

    @property
    def context_tokens(self) -> int:
        """Tokens of the conversation as the last answer reported them; 0 before the first."""
        for message in reversed(self.agent.conversation.messages):
            if message.usage is not None:
                return message.usage.context_tokens
        return 0

    @property
    def usage_by_model(self) -> dict[str, Usage]:
        return dict(self.agent.conversation.usage)

    def _record_usage(self) -> None:
        usage = self.agent.conversation.usage
        if usage != self._recorded:
            self._recorded = dict(usage)
            self.archive.append_record(
                usage_record(Totals(dict(usage), self.agent.cost_usd), ts=time.time()), sync=True
            )

    async def aclose(self) -> None:
        """Saves, ends children and background work, lets go of the session. May be called once."""
        self._record_usage()
        self.archive.flush()
        try:
            await self.background.close(grace=0.5)
            await asyncio.gather(self.tools.session.shell.aclose(), self.provider.aclose())
        finally:
            self.archive.close()
