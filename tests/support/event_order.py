"""The order of agent events, as `mewcode.core.events` promises it, checked on any list of them.

Beyond the grammar there: messages of the user's side (the prompt, reminders, interjections) may stand
anywhere but within an answer; blocks that were shown are added as a message or withdrawn, unless the turn was
interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

from mewcode.core.events import (
    AgentEvent,
    ApprovalRequested,
    ApprovalResolved,
    Compacted,
    CompactionFailed,
    CompactionStarted,
    MessageAdded,
    Notice,
    Pruned,
    RetryScheduled,
    StepEnded,
    StepStarted,
    StreamWithdrawn,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from mewcode.core.message import Message, Text, Thinking, ToolCall
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart, UsageReport

_KINDS = {"text": Text, "thinking": Thinking, "tool_call": ToolCall}


def check_order(events: Sequence[AgentEvent]) -> None:
    """Raises AssertionError that names the place of the first event out of order."""
    checker = _Turn(events)
    for place, event in enumerate(events):
        try:
            checker.take(event)
        except AssertionError as error:
            kinds = [type(earlier).__name__ for earlier in events[: place + 1]]
            raise AssertionError(f"event {place}: {error}\n{kinds}") from error
    assert checker.ended, "there is no TurnEnded"


class _Turn:
    def __init__(self, events: Sequence[AgentEvent]) -> None:
        last = events[-1] if events else None
        self.interrupted = isinstance(last, TurnEnded) and last.result.stop == "interrupted"
        self.begun = False
        self.ended = False
        self.steps = 0
        self.step: _Step | None = None
        self.compacting: CompactionStarted | None = None

    def take(self, event: AgentEvent) -> None:
        assert not self.ended, "nothing follows TurnEnded"
        if isinstance(event, TurnStarted):
            assert not self.begun, "a second TurnStarted"
            self.begun = True
            return
        assert self.begun, "TurnStarted comes first"
        if isinstance(event, CompactionStarted | Compacted | CompactionFailed | Pruned):
            self._room(event)
            return
        assert self.compacting is None or isinstance(event, Notice), "a compaction without its end"
        if isinstance(event, TurnEnded):
            assert self.step is None, "TurnEnded within a step"
            assert event.result.steps == self.steps, f"{self.steps} steps, the result says {event.result}"
            self.ended = True
        elif isinstance(event, StepStarted):
            assert self.step is None, "a step within a step"
            self.steps += 1
            assert event.step == self.steps, f"step {event.step} after {self.steps - 1}"
            self.step = _Step(self.interrupted)
        elif isinstance(event, StepEnded):
            assert self.step is not None, "StepEnded without a step"
            assert event.step == self.steps
            self.step.close()
            self.step = None
        elif self.step is not None:
            self.step.take(event)
        elif isinstance(event, MessageAdded):
            assert event.message.role == "user", f"a message of {event.message.role} outside of a step"
        else:
            assert isinstance(event, Notice), f"{type(event).__name__} outside of a step"

    def _room(self, event: CompactionStarted | Compacted | CompactionFailed | Pruned) -> None:
        assert self.step is None or self.step.asks, "room is made after the answer began"
        if isinstance(event, Pruned):
            assert self.compacting is None, "pruned within a compaction"
        elif isinstance(event, CompactionStarted):
            assert self.compacting is None, "two compactions at once"
            assert (event.trigger == "resumed") == (not self.steps), f"a compaction of {event.trigger}"
            self.compacting = event
        else:
            assert self.compacting is not None, "the end of no compaction"
            assert event.trigger == self.compacting.trigger
            self.compacting = None


class _Step:
    def __init__(self, interrupted: bool) -> None:
        self.interrupted = interrupted
        self.attempt = 1
        self.open: dict[int, tuple[str, list[str]]] = {}
        self.whole: dict[int, Text | Thinking | ToolCall] = {}
        self.message: Message | None = None
        self.started: set[str] = set()
        self.answered: set[str] = set()
        self.owed = ""
        self.asked = ""

    @property
    def asks(self) -> bool:
        """Whether nothing of an answer is there."""
        return self.message is None and not (self.open or self.whole)

    def take(self, event: AgentEvent) -> None:
        if isinstance(event, Notice):
            return
        if self.owed:
            assert isinstance(event, MessageAdded), "the result's message follows ToolEnded"
            assert event.message.role == "tool"
            assert [result.call_id for result in event.message.tool_results] == [self.owed]
            self.owed = ""
        elif isinstance(event, MessageAdded):
            self._message(event.message)
        elif self.message is None:
            self._answer(event)
        else:
            self._tool(event, {call.id for call in self.message.tool_calls})

    def close(self) -> None:
        assert not self.owed, "a ToolEnded without its message"
        assert not self.asked, "an approval without its answer"
        if self.message is None:
            assert self.interrupted or not (self.open or self.whole), "blocks neither added nor withdrawn"
            return
        calls = {call.id for call in self.message.tool_calls}
        assert self.answered == calls, f"calls without a result: {calls - self.answered}"

    def _message(self, message: Message) -> None:
        assert message.role != "tool", "a result without ToolEnded"
        if message.role == "user":
            assert self.message is not None or not (self.open or self.whole) or self.interrupted, (
                "a user's message within an answer"
            )
            return
        assert self.message is None, "a second answer in one step"
        assert self.interrupted or not self.open, "the answer is added while a block is open"
        shown = [self.whole[index] for index in sorted(self.whole)]
        shown = [value for value in shown if not isinstance(value, Text) or value.text]
        if not self.interrupted:
            assert [_essence(value) for value in message.content] == [_essence(value) for value in shown], (
                "the message is not what was shown"
            )
        self.message = message

    def _answer(self, event: AgentEvent) -> None:
        if isinstance(event, BlockStart):
            assert event.index not in self.open, f"block {event.index} is open"
            assert event.index not in self.whole, f"block {event.index} was there"
            assert bool(event.call_id) == (event.kind == "tool_call"), "a call has an id, nothing else has"
            self.open[event.index] = (event.kind, [])
        elif isinstance(event, BlockDelta):
            assert event.index in self.open, f"a delta for block {event.index}, which is not open"
            kind, parts = self.open[event.index]
            assert kind == event.kind, f"a delta of {event.kind} in a block of {kind}"
            parts.append(event.text)
        elif isinstance(event, BlockEnd):
            assert event.index in self.open, f"the end of block {event.index}, which is not open"
            kind, parts = self.open.pop(event.index)
            assert isinstance(event.block, _KINDS[kind]), f"a block of {kind} ends as {event.block}"
            if isinstance(event.block, Text | Thinking):
                assert event.block.text == "".join(parts), "the block is not what its deltas say"
            self.whole[event.index] = event.block
        elif isinstance(event, StreamWithdrawn):
            assert self.open or self.whole, "nothing was shown that could be withdrawn"
            self.open.clear()
            self.whole.clear()
        elif isinstance(event, RetryScheduled):
            shown = bool(self.open or self.whole)
            assert not shown, "a retry without withdrawing what was shown"
            self.attempt += 1
            assert event.attempt == self.attempt, f"attempt {event.attempt} after {self.attempt - 1}"
            assert event.attempt <= event.max_attempts
        else:
            assert isinstance(event, UsageReport), f"{type(event).__name__} within an answer"

    def _tool(self, event: AgentEvent, calls: set[str]) -> None:
        if isinstance(event, ToolStarted):
            assert event.call_id in calls, "a tool that nobody called"
            assert event.call_id not in self.started, "a second ToolStarted"
            self.started.add(event.call_id)
        elif isinstance(event, ToolProgress):
            assert event.call_id in self.started - self.answered, "progress of a tool that does not run"
        elif isinstance(event, ToolEnded):
            assert event.call_id in self.started - self.answered, "the end of a tool that does not run"
            self.answered.add(event.call_id)
            self.owed = event.call_id
        elif isinstance(event, ApprovalRequested):
            assert not self.asked, "two questions at once"
            assert event.request.call_id in calls - self.answered
            self.asked = event.request.call_id
        elif isinstance(event, ApprovalResolved):
            assert event.call_id == self.asked, "an answer to what was not asked"
            self.asked = ""
        else:
            raise AssertionError(f"{type(event).__name__} after the answer")


def _essence(value: object) -> object:
    """A call that was cut off at the output limit is marked after it was shown."""
    return (value.id, value.name) if isinstance(value, ToolCall) else value
