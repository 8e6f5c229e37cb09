"""A compaction: a summary and what is kept word for word take the place of the conversation, in the archive
and in what the model sees. Until all of it is there nothing is changed, and then it is done in one step."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mewcode.agent.conversation import new_message
from mewcode.agent.fit import NewestPart
from mewcode.agent.ports import Emit, Past
from mewcode.agent.preparing import Ahead
from mewcode.agent.reading_again import MOST_FILES, MOST_TOKENS, ReadAgain, read_again
from mewcode.agent.summarising import Spending, Summarizer, Written
from mewcode.context.keep import Kept, keep
from mewcode.context.summary import render
from mewcode.context.thresholds import Room, Thresholds
from mewcode.core.events import (
    Compacted,
    CompactionFailed,
    CompactionStarted,
    CompactionTrigger,
    CompactReport,
)
from mewcode.core.ids import new_id
from mewcode.core.message import Message, Text
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.record import Totals, reads_records

if TYPE_CHECKING:
    from mewcode.agent.session import Session
    from mewcode.context.meter import TokenMeter

_LOG = logging.getLogger("mewcode.session")

MOST_COPIES = 45_000
"""Tokens of a compacted conversation that were said before: so many may follow a marker in the archive."""
_MOST_AFTER = 0.7
"""The share of what may be used before a compaction that may be in use right after it."""
_LEAST = 500
"""Tokens that are worth a summary."""
_NOTHING = "there is nothing to sum up yet"
_NO_GAIN = "it would take as much room as what it stands for"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be made smaller: a request of ``before`` tokens, ``fixed`` of them in front of the messages.
    ``instructions``: what the user wants to be kept in mind."""

    trigger: CompactionTrigger
    limits: Thresholds
    before: int
    fixed: int
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class _New:
    """A conversation that takes the place of the one at hand, of which it keeps the last messages. ``after``:
    tokens of the request, estimated; ``count``: messages that are summed up, or left out."""

    messages: tuple[Message, ...]
    after: int
    count: int
    summary: str = ""
    by: str = ""
    ahead: bool = False
    again: ReadAgain | None = None


class Compaction:
    """Belongs to one session. One at a time: its caller sees to that."""

    def __init__(self, session: Session, meter: TokenMeter, summarizer: Summarizer, ahead: Ahead) -> None:
        self._session = session
        self._meter = meter
        self._summarizer = summarizer
        self._ahead = ahead

    async def run(self, task: Task, emit: Emit) -> CompactReport:
        """With a summary by a model. Says so with its events; raises nothing but cancellation, and then, as
        where it fails, all is as it was."""
        return await self._told(task, emit, self._summed_up)

    async def without_model(self, task: Task, emit: Emit) -> CompactReport:
        """As `run`, where no model can write a summary: what is old is left out, and is said to be in the
        archive."""
        return await self._told(task, emit, self._newest_part)

    async def _told(
        self, task: Task, emit: Emit, make: Callable[[Task, Spending], Awaitable[_New | str]]
    ) -> CompactReport:
        agent, began = self._session.agent, time.monotonic()
        spending = Spending(agent.conversation.count)
        before = tuple(agent.conversation.messages)
        size = self._meter.sizer(agent.model.name)
        estimated = task.fixed + sum(map(size, before))
        emit(CompactionStarted(task.trigger, task.before, task.limits.window))
        report: CompactReport = CompactionFailed(task.trigger, "it was stopped", stopped=True)
        try:
            made = await make(task, spending)
            if isinstance(made, str):
                report = CompactionFailed(task.trigger, made)
            elif self._session.agent is not agent or tuple(agent.conversation.messages) != before:
                report = CompactionFailed(task.trigger, "the conversation went on meanwhile")
            elif made.after >= estimated:
                report = CompactionFailed(task.trigger, _NO_GAIN)
            else:
                self._begin_anew(before, made)
                # Estimates are compared with each other; what the service counts is in proportion to them.
                scale = min(max(task.before / estimated, 0.5), 2.0)
                after = round(made.after * scale)
                report = _report(task, made, after, spending, time.monotonic() - began)
        except Exception as error:  # noqa: BLE001 - the turn can go on without; the log has the trace
            report = CompactionFailed(task.trigger, f"unexpected: {type(error).__name__}: {error}")
            _LOG.exception("the compaction failed")
        finally:
            emit(report)
        if isinstance(report, Compacted):
            await self._session.prepare()  # the prompt is made anew, of what is on the disk now
        return report

    async def _summed_up(self, task: Task, spending: Spending) -> _New | str:
        agent = self._session.agent
        messages = tuple(agent.conversation.messages)
        size = self._meter.sizer(agent.model.name)
        room = task.limits.room(task.fixed)
        if task.trigger != "threshold":
            # Who asks for it, or must have it, has less in mind than what fits beside a summary.
            total = sum(map(size, messages))
            room = Room(min(room.tail, total // 4), min(room.words, total // 8), room.summary)
        kept = keep(messages, size, room)
        if sum(map(size, kept.summarized)) < _LEAST:
            return _NOTHING
        ready, previous = None, ""
        if not task.instructions:
            ready = await self._ahead.take(agent.conversation)
        written: Written | str | None = None
        if ready is not None:
            written, previous = ready.written, ready.written.summary.text
            if ready.count < len(kept.summarized):
                longer = self._kept_from(ready.count, messages, size, room, task)
                kept, written = (longer, written) if longer is not None else (kept, None)
        is_ahead = written is not None
        if written is None:
            done = ready.count if ready is not None else 0
            written = await self._summarizer.write(
                kept.summarized[done:],
                spending,
                most=room.summary,
                instructions=task.instructions,
                previous=previous,
            )
        if isinstance(written, str):
            return written
        return await self._joined(task, written, kept, size, ahead=is_ahead)

    def _kept_from(
        self,
        place: int,
        messages: Sequence[Message],
        size: Callable[[Message], int],
        room: Room,
        task: Task,
    ) -> Kept | None:
        """What stays where a summary stands for the messages before ``place``: all that came since; None
        where that is too much."""
        tail = sum(map(size, messages[place:]))
        most = _most_kept(task.limits, task.fixed)
        if tail > most:
            return None
        kept = keep(messages, size, Room(tail, min(room.words, most - tail), room.summary))
        return kept if len(kept.summarized) <= place else None

    async def _joined(
        self, task: Task, written: Written, kept: Kept, size: Callable[[Message], int], *, ahead: bool
    ) -> _New:
        session = self._session
        archive = session.archive.folder / CONVERSATION
        ids = [message.id for message in kept.summarized]
        head = render(written.summary, ids, archive)
        after = task.fixed + size(head) + sum(map(size, kept.messages))
        model = session.model.name
        # Of what is freed, half at most.
        before = task.fixed + sum(map(size, (*kept.summarized, *kept.tail)))
        most = min(int(_MOST_AFTER * task.limits.compact_at), before) - after
        room = min(MOST_FILES * MOST_TOKENS, most // 2)
        again = await read_again(
            session.tools, kept.summarized, kept.tail, lambda text: self._meter.text(model, text), room
        )
        told = (_reminder(again),) if again.text else ()
        return _New(
            (head, *kept.todos, *kept.words, *told, *kept.tail),
            after + sum(map(size, told)),
            len(ids),
            written.summary.text,
            written.by,
            ahead,
            again,
        )

    async def _newest_part(self, task: Task, spending: Spending) -> _New | str:
        agent = self._session.agent
        messages = tuple(agent.conversation.messages)
        size = self._meter.sizer(agent.model.name)
        budget = max(task.limits.compact_at - task.fixed, task.limits.compact_at // 8)
        past = Past(await asyncio.to_thread(_files, self._session))
        left = [message.id for message in messages]
        kept = [
            msgspec.structs.replace(message, id=message.id if message.id in left else new_id(), usage=None)
            for message in await NewestPart().compact(messages, budget, past)
        ]
        count = len(messages) - sum(message.id in left for message in kept)
        return _New(tuple(kept), task.fixed + sum(map(size, kept)), count)

    def _begin_anew(self, before: Sequence[Message], made: _New) -> None:
        """The one step in which all changes."""
        session = self._session
        agent, archive = session.agent, session.archive
        conversation = agent.conversation
        totals = Totals(session.usage_by_model, agent.cost_usd)
        begun = archive.compact(made.messages, turns=conversation.sure_turns, totals=totals)
        conversation.begin_anew(begun)
        if made.again is not None:
            session.tools.session.reads.take_over(made.again.reads)
        for record in reads_records(session.tools.session.reads.export(), ts=time.time()):
            archive.append_record(record)
        session.work.summed_up(session, before, begun)
        self._ahead.drop()
        agent.system = ()


def room_since(limits: Thresholds, fixed: int) -> int:
    """Tokens that may come after a summary was prepared so that it can still be used as it is; 0 or less in a
    window that is too small for that."""
    return _most_kept(limits, fixed) - limits.room(fixed).tail


def _most_kept(limits: Thresholds, fixed: int) -> int:
    """Tokens of messages that may stand behind a summary."""
    return min(MOST_COPIES, int(_MOST_AFTER * limits.compact_at) - fixed - limits.room(fixed).summary)


def _report(task: Task, made: _New, after: int, spending: Spending, seconds: float) -> Compacted:
    return Compacted(
        task.trigger,
        task.before,
        after,
        made.count,
        made.summary,
        made.by,
        made.ahead,
        round(seconds, 3),
        spending.usage,
        made.again.files if made.again is not None else (),
    )


def _reminder(again: ReadAgain) -> Message:
    return new_message("user", (Text(f"<system-reminder>\n{again.text}\n</system-reminder>"),), "reminder")


def _files(session: Session) -> tuple[Path, ...]:
    """Where all of the conversation stands, in order."""
    folder = session.archive.folder
    bases = sorted(folder.glob("base-*.jsonl"), key=lambda path: (len(path.name), path.name))
    return (*bases, folder / CONVERSATION)
