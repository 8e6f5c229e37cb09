"""Reads and searches of one step, gathered into one card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mewcode.core.outcome import ToolOutcome
from mewcode.repl.duration import duration
from mewcode.repl.screen_lines import cut_line, more
from mewcode.repl.theme import Style, Theme
from mewcode.repl.tool_views import WORTH_SECONDS, card_note, tool_card

# What a tool of these does, and what one and several of it are called.
_DOINGS: dict[str, tuple[str, str, str]] = {
    "read_file": ("read", "file", "files"),
    "list_dir": ("listed", "folder", "folders"),
    "glob": ("searched", "once", "times"),
    "grep": ("searched", "once", "times"),
}
_SHOWN = 8
_BULLET, _ELBOW, _BELOW = "● ", "  └ ", "    "


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that has ended: its tool, its argument, how it went, the seconds it took."""

    name: str
    summary: str
    outcome: ToolOutcome
    seconds: float


def is_grouped(name: str) -> bool:
    """Whether calls of this tool only look around."""
    return name in _DOINGS


@dataclass(slots=True)
class ToolGroup:
    """Gathers calls until it is asked for their card."""

    calls: list[Ended] = field(default_factory=list)

    def add(self, call: Ended) -> None:
        self.calls.append(call)

    def card(self, theme: Theme, width: int) -> str:
        """The card of what was gathered so far, "" for nothing. A single call has the card of its own. Each
        line ends in a newline."""
        if len(self.calls) < 2:
            return "".join(
                tool_card(call.name, call.summary, call.outcome, call.seconds, theme, width)
                for call in self.calls
            )
        return group_card(self.calls, theme, width)

    def take(self, theme: Theme, width: int) -> str:
        """The card; the group is then empty."""
        card = self.card(theme, width)
        self.calls.clear()
        return card


def group_card(calls: Sequence[Ended], theme: Theme, width: int) -> str:
    """``read 3 files, searched 2 times``, and below one line for each call; what went wrong comes first."""
    width = max(8, width)
    failed = [call for call in calls if call.outcome.is_error]
    style: Style = "error" if len(failed) == len(calls) else "ok"
    slowest = max(call.seconds for call in calls)
    words = _words(calls) + (f" · {duration(slowest, tenths=True)}" if slowest > WORTH_SECONDS else "")
    lines = [
        theme.paint(style, _BULLET.rstrip()) + " " + cut_line(theme, "bold", words, width - len(_BULLET))
    ]
    ordered = failed + [call for call in calls if not call.outcome.is_error]
    # Never just one is left out.
    shown = ordered if len(ordered) <= _SHOWN + 1 else ordered[:_SHOWN]
    body = [_line(call, theme, width - len(_BELOW)) for call in shown]
    if len(shown) < len(ordered):
        body.append(more(theme, len(ordered) - len(shown), width - len(_BELOW)))
    lines += [
        (_BELOW if number else theme.paint("dim", _ELBOW.rstrip()) + " ") + line
        for number, line in enumerate(body)
    ]
    return "".join(f"{line}\n" for line in lines)


def _words(calls: Sequence[Ended]) -> str:
    counts: dict[tuple[str, str, str], int] = {}
    for call in calls:
        doing = _DOINGS[call.name]
        counts[doing] = counts.get(doing, 0) + 1
    return ", ".join(
        f"{verb} {one}"
        if count == 1 and one == "once"
        else f"{verb} {count} {one if count == 1 else several}"
        for (verb, one, several), count in counts.items()
    )


def _line(call: Ended, theme: Theme, width: int) -> str:
    searched = _DOINGS[call.name][0] == "searched"
    what = f"{call.name} {call.summary}" if searched or not call.summary else call.summary
    note = card_note(call.outcome, theme, width)
    style: Style = "error" if call.outcome.is_error else "dim"
    return cut_line(theme, style, f"{what} · {note}" if note else what, width)
