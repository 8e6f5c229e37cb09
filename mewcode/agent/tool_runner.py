"""The tool step: each call of one answer becomes exactly one result, whatever happens.

Nothing is raised but cancellation. A tool's failure is its result, and its siblings go on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mewcode.agent.conversation import Conversation, new_message
from mewcode.agent.offload import StepRoom, put_aside
from mewcode.agent.ports import Emit, Person, Policy, RuleKeeper
from mewcode.core.access import Access, ReadAccess, Verdict, WriteAccess
from mewcode.core.errors import ToolError
from mewcode.core.events import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    ApprovalRequested,
    ApprovalResolved,
    Notice,
    ToolEnded,
    ToolProgress,
    ToolStarted,
)
from mewcode.core.message import ToolCall, ToolResult
from mewcode.core.outcome import TextView, ToolOutcome, View
from mewcode.infra.supervisor import TaskScope
from mewcode.tools.base import AnyTool, ToolContext, ToolSession
from mewcode.tools.registry import Registry, decode_args

if TYPE_CHECKING:
    from mewcode.agent.guarding import Guard

_LOG = logging.getLogger("mewcode.tools")

# Searches and reads of one answer that run side by side: more would only wait for the disk.
_AT_ONCE = 8
# Calls of one answer; no task needs more, and a model that runs wild makes thousands.
_MOST_CALLS = 200
# Seconds that a stopped turn waits for a long result to be on the disk.
_PATIENCE = 1.0
TOO_MANY = f"not run: one answer may make {_MOST_CALLS} calls at most"

INTERRUPTED = "interrupted by the user"
NOT_RUN = "not run: the user stopped the turn before this call"
OVER_LIMIT = "not run: no tool can be used any more in this turn"


Watch = Callable[[Sequence[Access]], AbstractAsyncContextManager[None]]
"""Entered while a call runs that may touch these; it neither raises nor changes the call."""


Touched = Callable[[Collection[Path], Conversation, Emit], Awaitable[None]]
"""Called after the calls of one answer with the paths that they touched; it does not raise."""


class ToolRunner:
    """Runs calls under the policy. ``person`` is None where no user is there: what would ask is denied.
    Where they are set, ``guard`` holds notes and instructions against the calls, ``watch`` looks at what they
    change, ``touched`` is told of what they touched."""

    def __init__(
        self,
        registry: Registry,
        session: ToolSession,
        policy: Policy,
        person: Person | None = None,
        rules: RuleKeeper | None = None,
    ) -> None:
        self.registry = registry
        self.session = session
        self.policy = policy
        self.person = person
        self._rules = rules
        self.guard: Guard | None = None
        self.make_guard: Callable[[], Guard | None] | None = None
        self.watch: Watch | None = None
        self.touched: Touched | None = None
        self._one_question = asyncio.Lock()

    def begin_turn(self) -> None:
        """Called where each turn begins. Makes the guard once there is something to guard by."""
        if self.guard is None and self.make_guard is not None:
            self.guard = self.make_guard()
        if self.guard is not None:
            self.guard.begin_turn()

    async def run(self, calls: Sequence[ToolCall], conversation: Conversation, emit: Emit) -> ToolStep:
        """Runs the calls of one answer; read-only neighbours overlap, others go one by one in order."""
        step = ToolStep(self, conversation, emit)
        try:
            for overlap, group in groupby(calls[:_MOST_CALLS], self._is_read_only):
                batch = list(group)
                if overlap and len(batch) > 1:
                    await self._overlapping(step, batch)
                else:
                    for call in batch:
                        await step.answer(call)
        finally:
            # Calls are left when the turn was stopped, or when there were too many: each is told so.
            step.close(calls[:_MOST_CALLS])
            step.close(calls[_MOST_CALLS:], TOO_MANY)
        if self.touched is not None and step.touched:
            await self.touched(step.touched, conversation, emit)
        return step

    def refuse(self, calls: Sequence[ToolCall], conversation: Conversation, emit: Emit) -> None:
        """Answers calls that were made though no tool may be used any more; runs none."""
        ToolStep(self, conversation, emit).close(calls, OVER_LIMIT)

    async def _overlapping(self, step: ToolStep, batch: list[ToolCall]) -> None:
        scope, room = TaskScope("tools"), asyncio.Semaphore(_AT_ONCE)

        async def answer(call: ToolCall) -> None:
            async with room:
                await step.answer(call)

        try:
            await asyncio.gather(*(scope.start(call.name or "call", answer(call)) for call in batch))
        finally:
            await scope.close()

    def _is_read_only(self, call: ToolCall) -> bool:
        tool = self.registry.get(call.name)
        return tool is not None and tool.read_only

    async def judge(
        self,
        tool: AnyTool,
        args: Any,
        accesses: Sequence[Access],
        call: ToolCall,
        emit: Emit,
        stopped: Callable[[], bool],
    ) -> tuple[bool, str]:
        """Whether the call may touch ``accesses``, else why not (for the model). Asks the person where the
        policy says so, unless ``stopped`` tells that the turn ends. Raises `ToolError` where the call could
        not work anyway, `TurnDenied` when the turn is to stop, `TurnStopped` when it has been."""
        verdict = await self._verdict(tool, accesses)
        if verdict.decision == "allow":
            return True, ""
        if verdict.decision == "deny":
            return False, f"permission denied: {verdict.reason}"
        if self.person is None:
            return False, f"permission denied: {verdict.reason}; no user is here to ask"
        view = await asyncio.to_thread(tool.preview, args, self.session)
        async with self._one_question:
            # A sibling's answer may have settled this one.
            if stopped():
                raise TurnStopped
            verdict = await self._verdict(tool, accesses)
            if verdict.decision == "allow":
                return True, ""
            answer = await self._ask(self.person, tool, args, call, verdict, view, emit)
        if answer.choice != "deny":
            self._remember(answer, verdict, emit)
            if self.guard is not None:
                self.guard.waive(accesses)
            if tool.accesses(args, self.session) != accesses:
                return False, "what this call would touch changed while the user was asked; ask again"
            return True, ""
        if answer.stop:
            raise TurnDenied
        return False, f"the user said no: {answer.reason}" if answer.reason else "the user said no"

    async def _verdict(self, tool: AnyTool, accesses: Sequence[Access]) -> Verdict:
        verdict = self.policy.judge(tool.name, tool.read_only, accesses)
        return verdict if self.guard is None else await self.guard.weigh(verdict, accesses)

    async def _ask(
        self,
        person: Person,
        tool: AnyTool,
        args: Any,
        call: ToolCall,
        verdict: Verdict,
        view: View | None,
        emit: Emit,
    ) -> ApprovalAnswer:
        summary = tool.summary(args, self.session)
        request = ApprovalRequest(call.id, tool.name, summary, verdict.reason, verdict.rule, view)
        emit(ApprovalRequested(request))
        choice: ApprovalChoice = "deny"
        try:
            answer = await person.approve(request)
            choice = answer.choice
        finally:
            emit(ApprovalResolved(call.id, choice))
        return answer

    def _remember(self, answer: ApprovalAnswer, verdict: Verdict, emit: Emit) -> None:
        if answer.choice == "once" or not verdict.rule:
            return
        self.policy.add_session_rule(verdict.rule)
        if answer.choice == "project":
            why = self._rules.remember(verdict.rule) if self._rules else "this session keeps no rules"
            if why:
                emit(Notice("warning", f"the rule holds for this session only: {why}"))


class TurnDenied(Exception):
    """The user said no and stopped the turn."""


class TurnStopped(Exception):
    """A sibling's denial has stopped the turn while this call waited: `ToolStep.close` answers it."""


class ToolStep:
    """The calls of one answer on their way to results."""

    def __init__(self, runner: ToolRunner, conversation: Conversation, emit: Emit) -> None:
        self._runner = runner
        self._conversation = conversation
        self._emit = emit
        self._answered: set[str] = set()
        self._started: dict[str, float] = {}
        self._summaries: dict[str, str] = {}
        self.unusable = 0
        self.denied = False
        self.touched: set[Path] = set()
        self._room = StepRoom()

    async def answer(self, call: ToolCall) -> None:
        """Runs one call and adds its result; once the user has stopped the turn, nothing more runs."""
        if self.denied:
            return
        try:
            outcome = await self._outcome(call)
        except TurnStopped:
            return
        except TurnDenied:
            self.denied = True
            outcome = ToolOutcome.text("the user said no and stopped the turn", is_error=True)
        except ToolError as error:
            outcome = _failure(str(error))
        except Exception as error:  # noqa: BLE001 - a tool's defect is its result; the log has the trace
            _LOG.exception("tool %s failed", call.name)
            outcome = _failure(f"the tool failed unexpectedly: {type(error).__name__}: {error}")
        self._start(call)
        await self._end(call, outcome, time.monotonic() - self._started[call.id])

    async def _end(self, call: ToolCall, outcome: ToolOutcome, seconds: float) -> None:
        """Adds the result, one that is too long for the conversation once its whole text is kept."""
        tool = self._runner.registry.get(call.name)
        if self._room.has_for(outcome, pages=tool is not None and tool.pages):
            self._finish(call, outcome, seconds)
            return
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(None, put_aside, outcome, call.id, self._conversation.keep_result)
        try:
            await asyncio.wait([writing])
        except asyncio.CancelledError:
            # The call has run: its result is not to be lost because the turn is stopped just now.
            await asyncio.wait([writing], timeout=_PATIENCE)
            raise
        finally:
            shown = writing.result() if writing.done() else put_aside(outcome, call.id, _keep_nowhere)
            self._finish(call, shown, seconds)

    async def _outcome(self, call: ToolCall) -> ToolOutcome:
        registry, session = self._runner.registry, self._runner.session
        tool = registry.get(call.name)
        if tool is None:
            self.unusable += 1
            nearest = registry.nearest(call.name)
            return _failure(
                f"there is no tool named {call.name!r}" + (f"; did you mean {nearest}?" if nearest else "")
            )
        if call.invalid:
            self.unusable += 1
            return _failure(
                "the arguments were no JSON object, or were cut off; nothing was run. "
                f"What arrived: {call.invalid[:500]}"
            )
        try:
            args = decode_args(tool, call.args)
        except ToolError as error:
            self.unusable += 1
            return _failure(str(error))
        self._summaries[call.id] = tool.summary(args, session)
        accesses = tool.accesses(args, session)
        allowed, why_not = await self._runner.judge(
            tool, args, accesses, call, self._emit, lambda: self.denied
        )
        self._start(call)
        if not allowed:
            return _failure(why_not)
        person = self._runner.person
        context = ToolContext(
            session,
            call.id,
            lambda text: self._emit(ToolProgress(call.id, text)),
            person.answer if person else None,
            accesses,
        )
        self.touched |= {
            Path(access.path) for access in accesses if isinstance(access, ReadAccess | WriteAccess)
        }
        watch = self._runner.watch
        async with watch(accesses) if watch is not None else nullcontext():
            outcome: ToolOutcome = await tool.run(args, context)
        if self._runner.guard is not None and not outcome.is_error:
            self._runner.guard.ran(accesses)
        return outcome

    def _start(self, call: ToolCall) -> None:
        if call.id not in self._started:
            self._started[call.id] = time.monotonic()
            self._emit(ToolStarted(call.id, call.name, self._summaries.get(call.id, ""), call.args))

    def _finish(self, call: ToolCall, outcome: ToolOutcome, seconds: float) -> None:
        self._room.take(outcome)
        self._start(call)
        self._answered.add(call.id)
        self._emit(ToolEnded(call.id, call.name, outcome, seconds))
        result = ToolResult(call.id, outcome.content, outcome.is_error)
        self._conversation.add(new_message("tool", (result,), "tool"), self._emit)

    def close(self, calls: Sequence[ToolCall], not_run: str = NOT_RUN) -> None:
        """Gives each call that has no result the one that says why: those that had begun were interrupted."""
        for call in calls:
            if call.id not in self._answered:
                self._finish(call, _failure(INTERRUPTED if call.id in self._started else not_run), 0.0)


def _keep_nowhere(call_id: str, text: str) -> Path | None:
    return None


def _failure(text: str) -> ToolOutcome:
    return ToolOutcome.text(text, TextView(text.partition("\n")[0][:200]), is_error=True)
