"""Keeps a session's conversation within the model's window, the cheapest way first: old results become a line
each, a summary is prepared in the background, it takes the place of what is old, and where the service still
refuses, what is old is left out.

What is asked before each request takes time for what is new since the last one alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from mewcode.agent.ports import Answer, Emit, Send
from mewcode.context.meter import TokenMeter
from mewcode.context.thresholds import WARM, Thresholds
from mewcode.core.errors import PromptTooLong
from mewcode.core.events import (
    AgentEvent,
    Compacted,
    CompactionFailed,
    CompactionTrigger,
    CompactReport,
    Notice,
    Pruned,
)
from mewcode.providers.base import ModelRequest
from mewcode.providers.catalog import ModelInfo

if TYPE_CHECKING:
    from mewcode.agent.agent import Agent
    from mewcode.agent.compacting import Compaction
    from mewcode.agent.continuing import Resumption
    from mewcode.agent.past_summary import PastSummary
    from mewcode.agent.ports import Compactor
    from mewcode.agent.preparing import Ahead
    from mewcode.agent.session import Session
    from mewcode.agent.summarising import Summarizer
    from mewcode.context.parts import Parts

_FAILURES = 3
_TOO_LITTLE = 2
_LEAST_FREED = 0.10
"""The share of what stands behind the fixed part that a compaction has to free: with less, the next one
follows soon."""
_NEAR = 0.8
"""A prepared summary is brought up to date from where so much of what may come after one is still to come."""
_BELIEVED = 0.9
"""A service that refuses a request as too long and gives no figures takes less than this share of it."""
_LEAST_WINDOW = 2_000
_CHOICES = (
    "Choose: /rewind to before what was too much, /clear to begin anew, or a model with a larger window "
    "(/model, --model)."
)
_HOW_TO_GO_ON = (
    "Try it with /compact, begin anew with /clear, or choose a model with a larger window (/model)."
)


class ContextKeeper:
    """`agent.ports.Keeper` of a session. ``meter`` counts tokens. ``stopped`` says why nothing is summed up
    by itself any more, empty where it is."""

    def __init__(
        self, session: Session, fallback: Compactor, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``fallback`` makes a continued conversation fit where no model can."""
        self.meter = TokenMeter()
        self.stopped = ""
        self._session = session
        self._fallback = fallback
        self._clock = clock
        self._agent: Agent | None = None
        self._fitting: list[PastSummary] = []  # of several only one is at work
        self._windows: dict[str, int] = {}  # by model, where a service has taken less than the catalogue says
        self._begin_with(None)

    def _begin_with(self, agent: Agent | None) -> None:
        """Another conversation: what was seen of the one before does not count."""
        self._agent = agent
        self.stopped = ""
        self._failures = self._too_little = 0
        self._last_failure = ""
        self._prune_from = 0
        self._last_request: float | None = None
        self._is_full = False
        self._is_told = False
        self._fixed: tuple[tuple[object, str], int] | None = None
        self.meter.forget()
        if "ahead" in self.__dict__:
            self.ahead.drop()

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def used(self) -> int:
        """Tokens that the next request has, as far as is known."""
        agent = self._session.agent
        if agent is not self._agent:
            self._begin_with(agent)
        return self.meter.conversation(
            agent.model.name, agent.conversation.messages, agent.system, agent.specs
        )

    @property
    def fixed(self) -> int:
        """Of these, the tokens of the system prompt and the tools."""
        agent = self._session.agent
        about = (agent.system, agent.model.name)
        if self._fixed is None or self._fixed[0] != about:
            self._fixed = about, self.meter.fixed(agent.model.name, agent.system, agent.specs)
        return self._fixed[1]

    @property
    def thresholds(self) -> Thresholds:
        """Of the model in use."""
        return self.limits(self._session.agent.model)

    def limits(self, model: ModelInfo) -> Thresholds:
        """Of a model, as its service was seen to take it."""
        window = min(model.context_window, self._windows.get(model.name, model.context_window))
        return Thresholds(window, model.max_output)

    @property
    def is_warm(self) -> bool:
        """Whether the provider still has the last request's prefix in its cache."""
        return self._last_request is not None and self._clock() - self._last_request < WARM

    @cached_property
    def ahead(self) -> Ahead:
        """Summaries that are prepared in the background."""
        from mewcode.agent.preparing import Ahead

        return Ahead(self._session.background, self.summarizer)

    async def fit(self, resumption: Resumption, emit: Emit | None = None) -> None:
        """Makes a continued conversation fit; ``emit`` is told of it."""
        from mewcode.agent.past_summary import PastSummary

        compactor = PastSummary(self._session, self, self._fallback, emit or _say_nothing)
        conversation = self._session.agent.conversation
        self._fitting.append(compactor)
        try:
            await resumption.fit(conversation, lambda: self.used, self.fixed, self.thresholds, compactor)
        finally:
            self._fitting.remove(compactor)

    def stop_fitting(self) -> None:
        """For a user who waits for `fit`: what is old is left out at once, and not summed up."""
        for compactor in self._fitting:
            compactor.stop()

    def measure(self) -> Parts:
        """What fills the model's window; makes no request. Takes time in proportion to the messages."""
        from mewcode.context.parts import measure

        agent, used = self._session.agent, self.used
        return measure(
            self.meter,
            agent.model.name,
            self.thresholds,
            self._session.prompt.sections if agent.system else {},
            agent.specs,
            agent.conversation.messages,
            total=used,
            warm=self.is_warm,
        )

    @cached_property
    def summarizer(self) -> Summarizer:
        """Asks models for summaries."""
        from mewcode.agent.summarising import Summarizer

        return Summarizer(self._session, self.meter, self.limits, self._take_refusal)

    @cached_property
    def _compaction(self) -> Compaction:
        from mewcode.agent.compacting import Compaction

        return Compaction(self._session, self.meter, self.summarizer, self.ahead)

    # --- what is done -------------------------------------------------------------------------------------

    async def answer(self, make: Callable[[], ModelRequest], send: Send, emit: Emit) -> Answer:
        """See `agent.ports.Keeper`."""
        if (recalling := self._session.work.recalling) is not None:
            await recalling.before_request(self._session, emit)
        await self.before_request(emit)
        try:
            message, reason = await self._send(make, send)
        except PromptTooLong as error:
            await self._make_room(error, emit)
            try:
                message, reason = await self._send(make, send)
            except PromptTooLong as again:
                self._take_refusal(self._session.agent.model, again, self.used)
                raise self._given_up() from again
        if reason == "context_window" and not self._is_full:
            self._is_full = True
            return message, "max_tokens"
        self._is_full = False
        return message, reason

    async def before_request(self, emit: Emit) -> None:
        """Makes room where that is due. Raises `PromptTooLong` where the fixed part leaves none."""
        used, limits = self.used, self.thresholds
        if not self._is_full and used < min(limits.prepare_at, limits.prune_at(warm=self.is_warm)):
            return
        if not self._has_room(limits, emit):
            return
        if self._is_full:
            await self._make_room(None, emit)
            return
        used = self._prune(limits, used, emit)
        if self.stopped:
            return
        if used >= limits.compact_at:
            await self._compact("threshold", emit)
        elif used >= limits.prepare_at:
            self._prepare_ahead(limits, used)

    async def compact(self, instructions: str = "", emit: Emit | None = None) -> CompactReport:
        """Sums the conversation up now. ``instructions``: what the user wants to be kept in mind. Called
        between turns: raises RuntimeError while one runs, or this does. Raises `ProviderError` and
        `NotConfigured` where the session has no model."""
        session = self._session
        async with session.agent.at_rest():
            await session.prepare()
            return await self._compact("asked", emit or _say_nothing, instructions)

    async def _send(self, make: Callable[[], ModelRequest], send: Send) -> Answer:
        request = make()
        room = self.thresholds.output_room(self.used)
        if room < request.model.max_output:
            model = msgspec.structs.replace(request.model, max_output=room)
            request = msgspec.structs.replace(request, model=model)
        try:
            return await send(request)
        finally:
            self._last_request = self._clock()

    def _has_room(self, limits: Thresholds, emit: Emit) -> bool:
        """Whether a smaller conversation would help. Raises `PromptTooLong` where none is small enough."""
        agent = self._session.agent
        system = self.meter.fixed(agent.model.name, agent.system, ())
        largest = (("system prompt", system), ("tools", self.fixed - system))
        problem = limits.fixed_problem(agent.model.name, self.fixed, largest)
        if not problem:
            return True
        if self.fixed >= limits.window:
            raise PromptTooLong(problem, _CHOICES)
        if not self._is_told:
            self._is_told = True
            emit(Notice("warning", problem))
        return False

    def _prune(self, limits: Thresholds, used: int, emit: Emit, *, wanted: int = 0) -> int:
        """Has old results become a line each, where that is due; with ``wanted`` so many tokens of them in
        any case. The tokens of the request then."""
        if not wanted and used < max(limits.prune_at(warm=self.is_warm), self._prune_from):
            return used
        from mewcode.context.pruning import apply, as_mapping, choose
        from mewcode.sessions.record import prune_record

        agent = self._session.agent
        conversation = agent.conversation
        chosen = choose(
            conversation.messages,
            self.meter.sizer(agent.model.name),
            wanted or limits.prune_wanted(used),
            least=1 if wanted else limits.prune_least,
        )
        # Ids that repairs and compactions in memory make up have a hyphen; the archive does not know them.
        chosen = [replacement for replacement in chosen if replacement.message_id.isalnum()]
        if not chosen:
            self._prune_from = used + limits.prune_least  # to look again sooner would find the same
            return used
        replaced = as_mapping(chosen)
        self._session.archive.append_record(prune_record(replaced, ts=time.time()))
        conversation.shorten(apply(conversation.messages, replaced))
        self.meter.rebase()
        after, self._prune_from = self.used, 0
        emit(Pruned(len(chosen), used, after))
        return after

    def _prepare_ahead(self, limits: Thresholds, used: int) -> None:
        from mewcode.agent.compacting import room_since
        from mewcode.context.keep import keep

        agent = self._session.agent
        size = self.meter.sizer(agent.model.name)
        room, since = limits.room(self.fixed), room_since(limits, self.fixed)
        if since <= 0:
            return
        self.ahead.begin(
            agent.conversation,
            lambda: keep(agent.conversation.messages, size, room).summarized,
            size,
            room.summary,
            worth=since // 3 if used >= limits.compact_at - _NEAR * since else None,
        )

    async def _compact(
        self, trigger: CompactionTrigger, emit: Emit, instructions: str = "", *, with_model: bool = True
    ) -> CompactReport:
        from mewcode.agent.compacting import Task

        task = Task(trigger, self.thresholds, self.used, self.fixed, instructions)
        run = self._compaction.run if with_model else self._compaction.without_model
        report = await run(task, emit)
        self._prune_from = 0
        self._watch(report, emit)
        return report

    def _watch(self, report: CompactReport, emit: Emit) -> None:
        """Stops what does not work, and says why."""
        if isinstance(report, Compacted) and not report.by:
            return  # done without a model: that tells nothing of what one can do
        if isinstance(report, Compacted):
            self._failures = 0
            is_little = report.before - report.after < _LEAST_FREED * (report.before - self.fixed)
            self._too_little = self._too_little + 1 if is_little else 0
            if not is_little:
                self.stopped = ""
        elif report.trigger != "asked" and not report.stopped:
            self._failures += 1
            self._last_failure = report.reason
        why = ""
        if self._failures >= _FAILURES:
            why = f"{self._failures} attempts failed, the last one because {self._last_failure}"
        elif self._too_little >= _TOO_LITTLE:
            why = f"the last {self._too_little} freed less than a tenth of what is in use"
        if why and not self.stopped:
            self.stopped = why
            emit(
                Notice(
                    "warning", f"the conversation is not summed up by itself any more: {why}", _HOW_TO_GO_ON
                )
            )

    # --- what the service refuses -------------------------------------------------------------------------

    async def _make_room(self, error: PromptTooLong | None, emit: Emit) -> None:
        """The service said that the request, or with its answer the window, is too long. Raises
        `PromptTooLong` where nothing helps."""
        used = self.used
        if error is not None:
            self._take_refusal(self._session.agent.model, error, used)
            self.meter.rebase()  # a service that refuses this may have told too little of what came before
            used = self.used
        limits = self.thresholds
        if not self._has_room(limits, emit):
            raise self._given_up() from error
        if not self.stopped and isinstance(await self._compact("too_long", emit), Compacted):
            return
        if self._prune(limits, self.used, emit, wanted=used) < limits.compact_at:
            return
        if isinstance(await self._compact("too_long", emit, with_model=False), CompactionFailed):
            raise self._given_up() from error

    def _take_refusal(self, model: ModelInfo, error: PromptTooLong, tokens: int) -> None:
        """Learns how much the service takes of a model whose request of ``tokens`` (estimated) it refused."""
        window = self.limits(model).window
        refused = error.tokens or tokens
        limit = error.limit or (window if refused > window else int(_BELIEVED * refused))
        if error.tokens and error.tokens > tokens:
            # What it counts is more than we do: our figures have to be compared with less.
            limit = int(limit * tokens / error.tokens)
        self._windows[model.name] = max(min(limit, window), _LEAST_WINDOW)

    def _given_up(self) -> PromptTooLong:
        agent = self._session.agent
        return PromptTooLong(
            f"the conversation does not fit the window of {agent.model.name}, and no more room can be made: "
            f"about {self.used:,} tokens, of which {self.fixed:,} are the system prompt and the tools; the "
            f"service takes about {self.thresholds.window:,}",
            _CHOICES,
        )


def _say_nothing(event: AgentEvent) -> None:
    return
