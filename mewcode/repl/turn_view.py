"""One turn on the screen: events in, finished blocks and a live part out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from mewcode.context.words import compacted_words, failed_words, pruned_words, started_words
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
)
from mewcode.core.message import Message, ToolCall
from mewcode.core.outcome import DiffView, TextView, ToolOutcome
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart, UsageReport
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.cell_width import cell_width
from mewcode.repl.duration import duration
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.markdown_stream import MarkdownStream
from mewcode.repl.theme import Style, Theme
from mewcode.repl.tool_groups import Ended, ToolGroup, is_grouped
from mewcode.repl.tool_views import running_card, tool_card

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL_LINES = 5
_MOST_NAMES = 3  # of recalled notes
_NOTE_ROOM = 18  # cells: narrower, the terminal breaks the lines
_TAIL_WIDTH = 2000  # characters of a line; more fit on no screen


@dataclass(slots=True)
class _Running:
    name: str
    summary: str
    started: float
    tail: deque[str] = field(default_factory=lambda: deque([""], _TAIL_LINES))

    def grow(self, text: str) -> None:
        first, *others = text.split("\n")
        # A line that never ends is kept by its end alone.
        self.tail[-1] = (self.tail[-1] + first)[-_TAIL_WIDTH:]
        self.tail.extend(others)


class TurnView:
    """``commit`` takes finished lines, ``width`` gives the screen's, ``clock`` seconds, ``window`` the tokens
    of the model's window, 0 where that is not known."""

    def __init__(
        self,
        theme: Theme,
        commit: Callable[[str], None],
        width: Callable[[], int],
        clock: Callable[[], float],
        window: Callable[[], int] = lambda: 0,
    ) -> None:
        self._theme = theme
        self._commit = commit
        self._width = width
        self._clock = clock
        self._window = window
        self._started = clock()
        self._markdown: MarkdownStream | None = None
        self._begun = False
        # Whether this step's answer has text in the scrollback.
        self._committed = False
        # The text of the answer that is coming, whole.
        self._said: list[str] = []
        self._thinking_since: float | None = None
        self._thought = ""
        self._writing = ""
        self._written = 0
        self._tools: dict[str, _Running] = {}
        self._group = ToolGroup()
        self._asked: set[str] = set()
        self._waits_for_user = False
        self._retry: tuple[RetryScheduled, float] | None = None
        self._compacting: tuple[CompactionStarted, float] | None = None
        self._tokens = 0
        self.interrupted = False
        # What is being done that no event tells of.
        self.doing = ""

    @property
    def answer(self) -> str:
        """What has come so far of an answer that is not in the conversation yet."""
        return "".join(self._said)

    def use_theme(self, theme: Theme) -> None:
        """Other colours, from the next block on."""
        self._theme = theme

    def handle(self, event: AgentEvent) -> None:
        """Takes the next event of the turn."""
        if isinstance(event, BlockDelta):
            self._delta(event)
        elif isinstance(event, BlockStart):
            self._start(event)
        elif isinstance(event, BlockEnd):
            self._end(event)
        elif isinstance(event, ToolStarted):
            self._tools[event.call_id] = _Running(event.name, event.summary, self._clock())
        elif isinstance(event, ToolProgress):
            if tool := self._tools.get(event.call_id):
                tool.grow(event.text)
        elif isinstance(event, ToolEnded):
            self._tool_ended(event)
        elif isinstance(event, ApprovalRequested):
            self._end_group()
            self._asked.add(event.request.call_id)
            self._waits_for_user = True
        elif isinstance(event, ApprovalResolved):
            self._waits_for_user = False
        elif isinstance(event, UsageReport):
            self._tokens = event.usage.output_tokens
        elif isinstance(event, StreamWithdrawn):
            self._withdraw()
        elif isinstance(event, RetryScheduled):
            self._retry = (event, self._clock() + event.delay)
        elif isinstance(event, StepStarted):
            self._retry, self._committed = None, False
            self._said.clear()
        elif isinstance(event, StepEnded):
            self._end_group()
        elif isinstance(event, MessageAdded):
            self._said.clear()
            if event.message.origin == "user":  # said during the turn, and shown below what came before
                self._end_group()
            elif event.message.origin == "recall":
                self._recalled(event.message)
        elif isinstance(event, Notice):
            self.note("warn" if event.level != "info" else "dim", event.text, event.hint)
        elif isinstance(event, Pruned | CompactionStarted | Compacted | CompactionFailed):
            self._made_room(event)
        elif isinstance(event, TurnEnded):
            self._turn_ended(event)

    def _recalled(self, message: Message) -> None:
        from mewcode.agent.recalled_note import names_of  # most turns have none

        if names := names_of(message):
            more = f" (+{len(names) - _MOST_NAMES})" if len(names) > _MOST_NAMES else ""
            self.note("dim", f"recalled: {', '.join(names[:_MOST_NAMES])}{more}")

    def _made_room(self, event: Pruned | CompactionStarted | Compacted | CompactionFailed) -> None:
        if isinstance(event, Pruned):
            self.note("dim", pruned_words(event, self._window()))
        elif isinstance(event, CompactionStarted):
            self._compacting = (event, self._clock())
        elif isinstance(event, Compacted):
            self._compacting = None
            self.note("plain" if event.trigger == "asked" else "dim", *compacted_words(event, "ctrl-o"))
        else:
            self._compacting = None
            self.note("dim" if event.stopped else "warn", *failed_words(event))

    def note(self, style: Style, text: str, hint: str = "") -> None:
        """A line or two in the scrollback: what happened, what to do."""
        self._end_group()
        said = [safe_line(line, 500) for line in safe_text(text).split("\n")]
        hints = [line for line in safe_text(hint).split("\n") if line]
        room = max(_NOTE_ROOM, self._width() - 2)
        lines: list[str] = []
        for tone, whole in (*((style, line) for line in said), *(("dim", line) for line in hints)):
            # A path or an address that no line holds is left to the terminal: so it can be copied whole.
            is_whole = any(cell_width(word) > room for word in whole.split())
            for start, end in [(0, len(whole))] if is_whole else break_lines(whole, room):
                lines.append(self._theme.paint(tone, ("  " if lines else "● ") + whole[start:end]))
        self._commit("\n" + "\n".join(lines))

    def _start(self, event: BlockStart) -> None:
        self._retry = None
        if event.kind == "text":
            self._markdown = MarkdownStream(self._width(), self._theme)
            self._begun = False
        elif event.kind == "thinking":
            self._thinking_since, self._thought = self._clock(), ""
        else:
            self._writing, self._written = event.name, 0

    def _delta(self, event: BlockDelta) -> None:
        if event.kind == "text" and self._markdown is not None:
            self._said.append(event.text)
            self._markdown.resize(self._width())
            self._add_text(self._markdown.feed(event.text))
        elif event.kind == "thinking":
            self._thought = (self._thought + event.text)[-400:]
        elif event.kind == "tool_call":
            self._written += len(event.text)

    def _add_text(self, finished: str) -> None:
        if finished:
            self._commit(finished if self._begun else "\n" + finished)
            self._begun = self._committed = True

    def _end(self, event: BlockEnd) -> None:
        if self._markdown is not None:
            self._add_text(self._markdown.finish())
            self._markdown = None
            self._said.append("\n\n")
        if self._thinking_since is not None:
            seconds = self._clock() - self._thinking_since
            self._thinking_since = None
            if seconds >= 1:
                self._commit("\n" + self._theme.paint("dim", f"✻ thought for {duration(seconds)}"))
        if isinstance(event.block, ToolCall):
            self._writing = ""

    def _withdraw(self) -> None:
        had_text, self._committed = self._committed, False
        self._markdown, self._thinking_since, self._writing = None, None, ""
        self._said.clear()
        if had_text:
            self.note("warn", "the answer broke off and is asked for again; what stands above is void")
        self._begun = False

    def _tool_ended(self, event: ToolEnded) -> None:
        tool = self._tools.pop(event.call_id, None)
        summary = tool.summary if tool else ""
        outcome = event.outcome
        if is_grouped(event.name) and event.call_id not in self._asked:
            self._group.add(Ended(event.name, summary, outcome, event.seconds))
            return
        self._end_group()
        if event.call_id in self._asked and isinstance(outcome.view, DiffView):
            # The whole change stands right above, where it was asked for.
            outcome = ToolOutcome(outcome.content, TextView("as shown"), outcome.is_error)
        card = tool_card(event.name, summary, outcome, event.seconds, self._theme, self._width())
        self._commit("\n" + card)

    def _end_group(self) -> None:
        if card := self._group.take(self._theme, self._width()):
            self._commit("\n" + card)

    def _turn_ended(self, event: TurnEnded) -> None:
        self._end_group()
        if self._markdown is not None:
            self._add_text(self._markdown.finish())
            self._markdown = None
        self._tools.clear()
        self._thinking_since, self._writing, self._retry, self._compacting = None, "", None, None
        result = event.result
        if result.stop == "interrupted":
            self.note("warn", "interrupted; what came is kept")
        elif result.stop == "denied":
            self.note("warn", "denied; tell MewCode what to do instead")
        elif result.error:
            self.note("error" if result.is_error else "warn", result.error, result.hint)

    def live_lines(self, max_lines: int) -> list[str]:
        """The lines of what is in progress, at most ``max_lines``, the last of them saying what goes on."""
        width, paint = self._width(), self._theme.paint
        lines: list[str] = []
        if self._markdown is not None:
            self._markdown.resize(width)
            body = self._markdown.live(max(1, max_lines - 2))
            lines += [*([] if self._begun else [""]), *body]
        if card := self._group.card(self._theme, width):
            lines += ["", *card.rstrip("\n").split("\n")]
        for tool in self._tools.values():
            tail = [line for line in tool.tail if line]
            lines += ["", *running_card(
                tool.name, tool.summary, self._clock() - tool.started, tail, self._theme, width
            )]  # fmt: skip
        if self._thinking_since is not None and self._thought:
            lines += ["", paint("dim", safe_line("✻ " + self._thought.split("\n")[-1], width - 1))]
        room = max_lines - 2
        return [*lines[-room:], "", self._working_line(width)] if room > 0 else [self._working_line(width)]

    def _working_line(self, width: int) -> str:
        now = self._clock()
        spinner = _SPINNER[int(now * 10) % len(_SPINNER)]
        if self.interrupted:
            text = "stopping…"
        elif self._compacting is not None:
            making, since = self._compacting
            text = f"{started_words(making)} · {duration(now - since)} · esc to stop"
        elif self._retry is not None:
            event, until = self._retry
            text = (
                f"attempt {event.attempt} of {event.max_attempts} in {max(0, round(until - now))} s: "
                f"{safe_line(event.reason, 120)}"
            )
        else:
            doing = (
                self.doing if self.doing
                else f"writing {safe_line(self._writing, 30)} ({self._written:,} characters)"
                if self._writing
                else "thinking" if self._thinking_since is not None
                else "running" if self._tools
                else "answering" if self._markdown is not None
                else "waiting for you" if self._waits_for_user
                else "waiting for the model"
            )  # fmt: skip
            tokens = f" · {self._tokens:,} tokens" if self._tokens else ""
            text = f"{doing} · {duration(now - self._started)}{tokens} · esc to stop"
        return (
            self._theme.paint("accent", spinner) + " " + self._theme.paint("dim", safe_line(text, width - 4))
        )
