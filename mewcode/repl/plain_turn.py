"""One turn as plain lines: the answer as it comes, each tool in one line."""

from __future__ import annotations

from collections.abc import Callable

from mewcode.context.words import compacted_words, failed_words, pruned_words, started_words
from mewcode.core.events import (
    AgentEvent,
    Compacted,
    CompactionFailed,
    CompactionStarted,
    Notice,
    Pruned,
    RetryScheduled,
    StreamWithdrawn,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from mewcode.core.outcome import CommandView, DiffView
from mewcode.core.stream import BlockDelta, BlockEnd
from mewcode.infra.terminal_text import StreamCleaner, safe_line, safe_text
from mewcode.repl.theme import THEMES
from mewcode.repl.tool_views import card_note, diff_view

_WIDTH = 1000  # cells: lines are wrapped by the terminal
_OUTPUT_LINES = 20


class PlainTurn:
    """``write`` takes text. The answer is written by whole lines, so that a reader speaks whole ones.
    ``window`` as for `repl.turn_view.TurnView`."""

    def __init__(self, write: Callable[[str], None], window: Callable[[], int] = lambda: 0) -> None:
        self._write = write
        self._window = window
        self._cleaner = StreamCleaner()
        self._line = ""
        self._summaries: dict[str, str] = {}

    def handle(self, event: AgentEvent) -> None:
        """Takes the next event of the turn."""
        if isinstance(event, BlockDelta):
            if event.kind == "text":
                self._text(self._cleaner.feed(event.text))
        elif isinstance(event, BlockEnd):
            self._end_text()
        elif isinstance(event, StreamWithdrawn):
            self._cleaner, self._line = StreamCleaner(), ""
            self._say("the answer broke off and is asked for again; what was said of it is void")
        elif isinstance(event, RetryScheduled):
            self._say(
                f"attempt {event.attempt} of {event.max_attempts} in {round(event.delay)} s: {event.reason}"
            )
        elif isinstance(event, ToolStarted):
            self._summaries[event.call_id] = event.summary
        elif isinstance(event, ToolEnded):
            self._tool(event)
        elif isinstance(event, Notice):
            self._say(event.text, event.hint)
        elif isinstance(event, Pruned):
            self._say(pruned_words(event, self._window()))
        elif isinstance(event, CompactionStarted):
            self._say(f"{started_words(event)}; Ctrl-C stops it")
        elif isinstance(event, Compacted):
            self._say(*compacted_words(event))
        elif isinstance(event, CompactionFailed):
            self._say(*failed_words(event))
        elif isinstance(event, TurnEnded):
            self._ended(event)

    def _text(self, text: str) -> None:
        whole, newline, self._line = (self._line + text).rpartition("\n")
        if newline:
            self._write(whole + newline)

    def _end_text(self) -> None:
        self._text(self._cleaner.finish())
        if self._line:
            self._write(self._line + "\n")
        self._line, self._cleaner = "", StreamCleaner()

    def _tool(self, event: ToolEnded) -> None:
        summary, outcome = self._summaries.pop(event.call_id, ""), event.outcome
        note = card_note(outcome, THEMES["no-color"], _WIDTH) or ("failed" if outcome.is_error else "done")
        self._say(f"{event.name} {safe_line(summary)}: {'error: ' if outcome.is_error else ''}{note}")
        view = outcome.view
        if isinstance(view, CommandView) and view.output.strip():
            lines = safe_text(view.output).rstrip().split("\n")
            hidden = len(lines) - _OUTPUT_LINES
            if hidden > 1:
                self._write(f"({hidden} earlier lines left out)\n")
                lines = lines[-_OUTPUT_LINES:]
            self._write("\n".join(lines) + "\n")
        elif isinstance(view, DiffView) and not view.created:
            self._write(diff_view(view, THEMES["no-color"], _WIDTH))

    def _ended(self, event: TurnEnded) -> None:
        self._end_text()
        result = event.result
        if result.stop == "interrupted":
            self._say("interrupted; what came is kept")
        elif result.stop == "denied":
            self._say("denied; tell MewCode what to do instead")
        elif result.error:
            self._say(f"{'error: ' if result.is_error else ''}{result.error}", result.hint)

    def _say(self, text: str, hint: str = "") -> None:
        self._write("".join(f"{safe_text(part)}\n" for part in (text, hint) if part))
