"""What the loop tells the world. A front end matches on these types; the order is a contract.

    TurnStarted
      Notice*                                       anywhere
      (CompactionStarted (Compacted | CompactionFailed))?
                                                    of a continued session that is too long
      (StepStarted
         (Pruned | CompactionStarted (Compacted | CompactionFailed))*
                                                    to make room, also where the request is sent again then
         (blocks StreamWithdrawn? RetryScheduled)*  a request failed: forget its blocks, it is sent again
         blocks                                     (BlockStart BlockDelta* BlockEnd)*, see `core.stream`;
                                                    UsageReport anywhere
         MessageAdded(assistant)?                   none for an answer with nothing in it
         (ToolStarted | ApprovalRequested ApprovalResolved | ToolProgress* | ToolEnded MessageAdded(tool))*
       StepEnded)*
    TurnEnded                                       always, and last

Read-only calls of one step overlap: their events interleave, told apart by ``call_id``. Each ToolStarted has
one ToolEnded. `MessageAdded` comes after the message is in the archive; for a message of the user's (the
prompt, a reminder, recalled notes, what was said meanwhile) it may come anywhere but within an answer. Each
CompactionStarted has one Compacted or CompactionFailed, also where the user stopped it. What a compaction
leaves has no MessageAdded: it was said before. Between turns, `/compact` gives the same events by themselves.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mewcode.core.message import Message, Usage
from mewcode.core.outcome import ToolOutcome, View
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart, UsageReport


class _Event(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    pass


class TurnStarted(_Event, tag="turn_start", frozen=True):
    session_id: str


class StepStarted(_Event, tag="step_start", frozen=True):
    """``step`` counts from 1 within the turn."""

    step: int


class RetryScheduled(_Event, tag="retry", frozen=True):
    """``delay`` in seconds until attempt number ``attempt`` of at most ``max_attempts``."""

    attempt: int
    max_attempts: int
    delay: float
    reason: str


class StreamWithdrawn(_Event, tag="stream_withdrawn", frozen=True):
    reason: str


class MessageAdded(_Event, tag="message", frozen=True):
    message: Message


class ApprovalRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person is asked before a tool runs. ``rule`` as in `core.access.Verdict`."""

    call_id: str
    tool: str
    summary: str
    reason: str
    rule: str = ""
    view: View | None = None


ApprovalChoice = Literal["once", "session", "project", "deny"]


class ApprovalAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """``reason`` (with deny) is read by the model; ``stop`` (with deny) ends the turn as well."""

    choice: ApprovalChoice
    reason: str = ""
    stop: bool = False


class ApprovalRequested(_Event, tag="approval_requested", frozen=True):
    request: ApprovalRequest


class ApprovalResolved(_Event, tag="approval_resolved", frozen=True):
    call_id: str
    choice: ApprovalChoice


class ToolStarted(_Event, tag="tool_start", frozen=True):
    """``summary`` is the argument worth a look: a path, a command, a pattern."""

    call_id: str
    name: str
    summary: str
    args: dict[str, Any] = {}


class ToolProgress(_Event, tag="tool_progress", frozen=True):
    """``text`` is new output of a running tool, safe to show."""

    call_id: str
    text: str


class ToolEnded(_Event, tag="tool_end", frozen=True):
    call_id: str
    name: str
    outcome: ToolOutcome
    seconds: float = 0.0


class Notice(_Event, tag="notice", frozen=True):
    """Something the user should know; ``hint`` says what to do."""

    level: Literal["info", "warning", "error"]
    text: str
    hint: str = ""


class Pruned(_Event, tag="pruned", frozen=True):
    """Old results that can be had again became a line each. ``results``: how many; ``before``, ``after``:
    tokens of the whole request, estimated."""

    results: int
    before: int
    after: int


# Why: the user asked, the window is nearly full, the service refused the request as too long, a session that
# is continued does not fit.
CompactionTrigger = Literal["asked", "threshold", "too_long", "resumed"]


class CompactionStarted(_Event, tag="compaction_start", frozen=True):
    """``tokens``: of the whole request, estimated; ``window``: of the model."""

    trigger: CompactionTrigger
    tokens: int
    window: int


class Compacted(_Event, tag="compaction", frozen=True):
    """The conversation begins anew with a summary. ``before``, ``after``: tokens of the whole request,
    estimated. ``messages``: how many are summed up. ``summary``: in Markdown, as the model reads it; not made
    safe to show. ``by``: the model that wrote it, empty where none did and what was old is left out.
    ``ahead``: it was written in the background. ``usage``: tokens spent on it, those of unused attempts
    included. ``files``: read again."""

    trigger: CompactionTrigger
    before: int
    after: int
    messages: int
    summary: str = ""
    by: str = ""
    ahead: bool = False
    seconds: float = 0.0
    usage: Usage = Usage()
    files: tuple[str, ...] = ()


class CompactionFailed(_Event, tag="compaction_failed", frozen=True):
    """The conversation is as it was. ``reason`` in words; ``hint`` says what to do. ``stopped``: the user
    did."""

    trigger: CompactionTrigger
    reason: str
    hint: str = ""
    stopped: bool = False


CompactReport = Compacted | CompactionFailed


class StepEnded(_Event, tag="step_end", frozen=True):
    step: int
    usage: Usage


# "limit": the steps are used up, and the text is the model's report. "budget": the cost limit is reached.
StopCause = Literal["done", "limit", "budget", "interrupted", "denied", "refusal", "error"]


class RunResult(msgspec.Struct, frozen=True, omit_defaults=False):
    """How a turn ended. ``cost_usd`` is None when a price is unknown; ``exit_code`` as in the shell."""

    text: str
    stop: StopCause
    steps: int
    usage: Usage
    cost_usd: float | None
    duration_ms: int
    error: str = ""
    hint: str = ""
    exit_code: int = 0

    @property
    def is_error(self) -> bool:
        return self.exit_code != 0


class TurnEnded(_Event, tag="turn_end", frozen=True):
    result: RunResult


class Question(msgspec.Struct, frozen=True):
    """A question of the model's to the user: two to four choices, each with a word of explanation."""

    question: str
    choices: tuple[tuple[str, str], ...]


AgentEvent = (
    TurnStarted
    | StepStarted
    | RetryScheduled
    | StreamWithdrawn
    | BlockStart
    | BlockDelta
    | BlockEnd
    | UsageReport
    | MessageAdded
    | ApprovalRequested
    | ApprovalResolved
    | ToolStarted
    | ToolProgress
    | ToolEnded
    | Notice
    | Pruned
    | CompactionStarted
    | Compacted
    | CompactionFailed
    | StepEnded
    | TurnEnded
)
