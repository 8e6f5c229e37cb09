"""An agent out of real parts with a provider, tools and a policy of a test's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec

from mewcode.agent.agent import Agent, Run
from mewcode.agent.conversation import Conversation
from mewcode.agent.loop import Limits
from mewcode.agent.ports import Person, RuleKeeper
from mewcode.agent.tool_runner import ToolRunner
from mewcode.core.access import Access, Mode, Verdict
from mewcode.core.events import AgentEvent, ApprovalAnswer, ApprovalRequest, Question
from mewcode.core.message import Message
from mewcode.core.outcome import ToolOutcome, View
from mewcode.providers.base import Provider
from mewcode.providers.catalog import Catalog, ModelInfo
from mewcode.providers.retry import RetryPolicy
from mewcode.tools.base import AnyTool, Tool, ToolContext, ToolSession
from mewcode.tools.read_table import ReadTable
from mewcode.tools.registry import Registry

from .event_order import check_order

MODEL = ModelInfo(name="sample-model", max_output=4_096)
QUICK = RetryPolicy(max_attempts=4, base=0.001, cap=0.002, longest_wait=1.0)


class MemoryArchive:
    """`agent.ports.Archive` that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.kept: dict[str, str] = {}
        self.results: Path | None = None  # where large results are said to be kept

    def append(self, message: Message, *, sync: bool = False) -> None:
        self.messages.append(message)

    def keep_result(self, call_id: str, text: str) -> Path | None:
        if self.results is None:
            return None
        self.kept[call_id] = text
        return self.results / call_id


@dataclass
class SamplePolicy:
    """Allows what ``verdicts`` (by tool) do not say otherwise; a session rule allows the tool it names."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    mode: Mode = "default"
    rules: list[str] = field(default_factory=list)

    def judge(self, tool: str, read_only: bool, accesses: Sequence[Access]) -> Verdict:
        if tool in self.rules:
            return Verdict("allow")
        return self.verdicts.get(tool, Verdict("allow"))

    def add_session_rule(self, rule: str, kind: str = "allow") -> None:
        self.rules.append(rule)

    def remove_session_rule(self, rule: str) -> bool:
        found = rule in self.rules
        self.rules = [known for known in self.rules if known != rule]
        return found

    def explain(self) -> Sequence[tuple[str, str, str]]:
        return [("session", "allow", rule) for rule in self.rules]


class SamplePerson:
    """A user who gives these answers in turn, then denies; ``asked`` are the questions."""

    def __init__(self, *answers: ApprovalAnswer | Callable[[], Awaitable[ApprovalAnswer]]) -> None:
        self._answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        answer = self._answers.pop(0) if self._answers else ApprovalAnswer("deny")
        return answer if isinstance(answer, ApprovalAnswer) else await answer()

    async def answer(self, question: Question) -> str | None:
        return question.choices[0][0]


class SampleArgs(msgspec.Struct):
    value: str = ""


RunFunction = Callable[[SampleArgs, ToolContext], Awaitable[ToolOutcome]]


async def echo(args: SampleArgs, context: ToolContext) -> ToolOutcome:
    return ToolOutcome.text(f"echo {args.value}")


class SampleTool(Tool[SampleArgs]):
    """A tool that is told what to do; made by `sample_tool`."""

    args_type = SampleArgs
    function: Any = staticmethod(echo)

    @property
    def description(self) -> str:
        return f"The tool {self.name} of a test."

    def summary(self, args: SampleArgs, session: ToolSession) -> str:
        return args.value

    def preview(self, args: SampleArgs, session: ToolSession) -> View | None:
        return None

    async def run(self, args: SampleArgs, context: ToolContext) -> ToolOutcome:
        outcome: ToolOutcome = await self.function(args, context)
        return outcome


def sample_tool(name: str, function: RunFunction = echo, *, read_only: bool = False) -> AnyTool:
    """A tool of this name that runs ``function``."""
    members = {"name": name, "read_only": read_only, "function": staticmethod(function)}
    return cast("AnyTool", type(f"Sample_{name}", (SampleTool,), members)())


def sample_agent(
    provider: Provider,
    *tools: AnyTool,
    policy: SamplePolicy | None = None,
    person: Person | None = None,
    rules: RuleKeeper | None = None,
    model: ModelInfo = MODEL,
    limits: Limits | None = None,
    retry: RetryPolicy = QUICK,
    messages: Sequence[Message] = (),
) -> Agent:
    """An agent over real parts that touches no file."""
    cwd = Path.cwd()
    session = ToolSession(root=cwd, cwd=cwd, reads=ReadTable(), shell=cast("Any", None))
    runner = ToolRunner(Registry(tools), session, policy or SamplePolicy(), person, rules)
    return Agent(
        session_id="sample",
        provider=provider,
        model=model,
        system=("You are a sample.",),
        tools=runner,
        conversation=Conversation(MemoryArchive(), messages),
        find_model=Catalog({}).find,
        limits=limits,
        retry=retry,
    )


async def run_turn(
    agent: Agent, prompt: str = "go", on_event: Callable[[AgentEvent, Run], None] | None = None
) -> tuple[list[AgentEvent], Run]:
    """The events of a turn, checked for their order, and the ended turn."""
    events: list[AgentEvent] = []
    async with agent.run(prompt) as run:
        async for event in run:
            events.append(event)
            if on_event is not None:
                on_event(event, run)
    check_order(events)
    return events, run
