"""What the loop needs from the outside. Each method says when it is called and whether it may raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from mewcode.core.access import Access, Mode, Verdict
from mewcode.core.events import AgentEvent, ApprovalAnswer, ApprovalRequest, Question
from mewcode.core.message import Message

Emit = Callable[[AgentEvent], None]


class Archive(Protocol):
    """Where messages are kept. Called from the event loop; a call takes microseconds and never raises: what
    cannot be written now is kept in memory and tried again."""

    def append(self, message: Message, *, sync: bool = False) -> None:
        """Called once for each message, before it is sent anywhere. ``sync``: make it durable now."""
        ...


class Policy(Protocol):
    """Judges tool calls. Never raises, touches no network."""

    mode: Mode

    def judge(self, tool: str, read_only: bool, accesses: Sequence[Access]) -> Verdict:
        """Called before a call runs, with all that it will touch, and again before the user is asked, whose
        answer to another call may have settled this one. Takes milliseconds."""
        ...

    def add_session_rule(self, rule: str, kind: Literal["allow", "ask", "deny"] = "allow") -> None:
        """Called with a rule that the policy suggested in a `Verdict`, or that the user typed. Raises
        `ConfigError` for one that is no rule."""
        ...

    def remove_session_rule(self, rule: str) -> bool:
        """Takes back what `add_session_rule` was given; False where it was given no such rule."""
        ...

    def explain(self) -> Sequence[tuple[str, str, str]]:
        """The rules in force: level, kind, rule."""
        ...


class Person(Protocol):
    """The user, where one is there. Called for one question at a time; cancelled with the turn."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Called where the policy's verdict is to ask; waits for the user without limit. Where it raises,
        the call does not run and the error is its result."""
        ...

    async def answer(self, question: Question) -> str | None:
        """The chosen label or the user's own words; None when they declined to answer."""
        ...


class RuleKeeper(Protocol):
    """Keeps a rule for the project beyond this session."""

    def remember(self, rule: str) -> str | None:
        """Returns None, or why it was not kept. Never raises."""
        ...
