"""Tool calls, changes of files and the user's messages as the scrollback shows them.

All text is of unknown origin and made safe here. No line is wider than the width asked for, in cells; one
below 8 counts as 8.
"""

from __future__ import annotations

from collections.abc import Sequence

from mewcode.core.message import Text
from mewcode.core.outcome import CommandView, DiffView, TextView, TodoView, ToolOutcome, View
from mewcode.infra.terminal_text import safe_line, safe_text, visible_text
from mewcode.repl.cell_width import cell_width, cut_cells
from mewcode.repl.diff_lines import changes, count_changed, text_lines
from mewcode.repl.diff_render import render_diff
from mewcode.repl.duration import duration
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.screen_lines import TAB, cut_line, head_and_tail, more, shown_line, wrapped_whole
from mewcode.repl.theme import Style, Theme

_LEAST_WIDTH = 8
_BULLET = "● "
_ELBOW = "  └ "
_BELOW = "    "
_PROMPT = "❯ "
# Output of a command on its card: so many lines of its beginning and of its end.
_HEAD, _TAIL = 3, 5
_BODY_LINES = 8
_CREATED_LINES = 10
_DIFF_LINES = 40
_RUNNING_LINES = 5
_ERROR_LINES = 4
_USER_LINES = 12
_APPROVAL_LINES = 200
WORTH_SECONDS = 1.0
"""Calls that took longer show their time."""
_TODO_SIGNS: dict[str, tuple[str, Style]] = {
    "pending": ("☐", "plain"),
    "in_progress": ("◐", "accent"),
    "done": ("☒", "dim"),
}


def tool_card(name: str, summary: str, outcome: ToolOutcome, seconds: float, theme: Theme, width: int) -> str:
    """An ended call: its name and argument, one line on how it went, and a few lines of what it gave. Each
    line ends in a newline."""
    width = max(_LEAST_WIDTH, width)
    style: Style = "error" if outcome.is_error else "dim"
    notes, body = _card_content(outcome, theme, width - len(_BELOW))
    if seconds > WORTH_SECONDS:
        notes.append(duration(seconds, tenths=True))
    note = " · ".join(filter(None, notes)) or ("failed" if outcome.is_error else "done")
    lines = [_title(name, summary, "error" if outcome.is_error else "ok", theme, width)]
    lines.append(_elbow_line(note, theme, style, width))
    lines += [_BELOW + line if line else "" for line in body]
    return "\n".join(lines) + "\n"


def edits_card(
    name: str, summary: str, edits: Sequence[tuple[DiffView, int]], theme: Theme, width: int
) -> str:
    """As `tool_card` of a call that changed parts of a file: each as it was and is, with the number of its
    first line. As many lines of it as of a whole file's change."""
    width = max(_LEAST_WIDTH, width)
    added = removed = 0
    body: list[str] = []
    for view, first in edits:
        found = changes(text_lines(view.before), text_lines(view.after))
        more_added, more_removed = count_changed(found)
        added, removed = added + more_added, removed + more_removed
        if len(body) < _DIFF_LINES:
            lines = render_diff(view, theme, width - len(_BELOW), _DIFF_LINES - len(body), first=first)[1]
            body += [theme.paint("dim", "⋮"), *lines] if body else lines
    title = _title(name, summary, "ok", theme, width)
    note = _elbow_line(f"+{added:,} -{removed:,}", theme, "dim", width)
    return "\n".join([title, note, *(_BELOW + line for line in body)]) + "\n"


def card_note(outcome: ToolOutcome, theme: Theme, width: int) -> str:
    """The words of a card's second line: how the call went."""
    return " · ".join(filter(None, _card_content(outcome, theme, width)[0]))


def running_card(
    name: str, summary: str, seconds: float, tail_lines: Sequence[str], theme: Theme, width: int
) -> list[str]:
    """A call that runs: its title, how long it has been running, and its last lines of output."""
    width = max(_LEAST_WIDTH, width)
    note = f"running {duration(seconds)}" if seconds > WORTH_SECONDS else "running"
    lines = [_title(name, summary, "accent", theme, width)]
    lines.append(_elbow_line(note, theme, "dim", width))
    tail = [cut_line(theme, "dim", line, width - len(_BELOW)) for line in tail_lines[-_RUNNING_LINES:]]
    return lines + [_BELOW + line if line else "" for line in tail]


def diff_view(view: DiffView, theme: Theme, width: int, max_lines: int = _DIFF_LINES) -> str:
    """A change of a file: its name and size, then the first ``max_lines`` lines of the diff with line
    numbers, and how many more there are. Each line ends in a newline."""
    width = max(_LEAST_WIDTH, width)
    stat, body = render_diff(view, theme, width, max_lines)
    path = shown_line(view.path, max(1, width - len(stat) - 2))
    head = theme.paint("bold", path)
    if cell_width(path) + 2 + len(stat) <= width:
        head += "  " + theme.paint("dim", stat)
    return "\n".join([head, *body]) + "\n"


def approval_view(view: View, theme: Theme, width: int) -> str:
    """What a person decides on: up to 200 lines of it, wrapped and not cut, control characters spelt out;
    where there is more, it says how much. Each line ends in a newline."""
    width = max(_LEAST_WIDTH, width)
    if isinstance(view, DiffView):
        stat, body = render_diff(view, theme, width, _APPROVAL_LINES, wrap=True)
        lines = [*_whole(view.path, theme, "bold", width), cut_line(theme, "dim", stat, width), *body]
    elif isinstance(view, CommandView):
        lines = _whole(view.command, theme, "plain", width) + _whole(view.note, theme, "dim", width)
    elif isinstance(view, TodoView):
        lines = _todo_lines(view, theme, width)
    else:
        lines = _whole(view.summary, theme, "plain", width) + _whole(view.body, theme, "dim", width)
    return "".join(f"{line}\n" for line in lines)


def user_block(text: str, theme: Theme, width: int) -> str:
    """The user's own message, wrapped behind a prompt sign; beyond 12 lines it is folded. Each line ends in
    a newline."""
    room = max(_LEAST_WIDTH, width) - len(_PROMPT)
    shown: list[str] = []
    texts = safe_text(text).removesuffix("\n").split("\n")
    hidden = 0
    for number, line in enumerate(texts):
        line = line[: (_USER_LINES + 1) * room].expandtabs(TAB)
        ranges = break_lines(line, room)
        space = _USER_LINES - len(shown)
        shown += [theme.paint("user", line[start:end]) for start, end in ranges[:space]]
        if len(ranges) > space or (len(shown) == _USER_LINES and number + 1 < len(texts)):
            hidden = len(texts) - number - (len(ranges) <= space)
            break
    if hidden:
        shown.append(more(theme, hidden, room))
    sign = theme.paint("user", _PROMPT.rstrip()) + " "
    return "".join(
        f"{(sign if number == 0 else '  ') + line if line or not number else ''}\n"
        for number, line in enumerate(shown)
    )


def _title(name: str, summary: str, style: Style, theme: Theme, width: int) -> str:
    """``● name(summary)``; the argument gives way, its bracket stays."""
    name = shown_line(name, width - len(_BULLET))
    room = width - len(_BULLET) - cell_width(name) - 2
    bullet = theme.paint(style, _BULLET.rstrip()) + " "
    text = safe_line(summary, 4 * width)
    argument = f"({cut_cells(text, room)})" if text and room > 0 else ""
    return bullet + theme.paint("bold", name) + argument


def _elbow_line(note: str, theme: Theme, style: Style, width: int) -> str:
    return theme.paint("dim", _ELBOW.rstrip()) + " " + cut_line(theme, style, note, width - len(_ELBOW))


def _card_content(outcome: ToolOutcome, theme: Theme, width: int) -> tuple[list[str], list[str]]:
    """The words of a card's second line, and the painted lines below it."""
    view = outcome.view
    if isinstance(view, DiffView):
        stat, lines = render_diff(view, theme, width, _CREATED_LINES if view.created else _DIFF_LINES)
        return [stat], lines
    if isinstance(view, CommandView):
        return _command_content(view, theme, width)
    if isinstance(view, TodoView):
        done = sum(item.status == "done" for item in view.items)
        return [f"{done} of {len(view.items)} done"], _todo_lines(view, theme, width)
    if isinstance(view, TextView) and (view.summary or view.body):
        return [view.summary], head_and_tail(_lines(view.body), _BODY_LINES, 0, theme, "dim", width)
    words = "\n".join(part.text for part in outcome.content if isinstance(part, Text))
    first, *others = _lines(words) or [""]
    if outcome.is_error:
        return [first], head_and_tail(others, _ERROR_LINES, 0, theme, "error", width)
    count = len(others) + 1
    return [first if count == 1 else f"{count:,} lines"], []


def _command_content(view: CommandView, theme: Theme, width: int) -> tuple[list[str], list[str]]:
    output = _lines(view.output)
    notes = [] if view.exit_code in (None, 0) else [f"exit {view.exit_code}"]
    if output:
        notes.append(f"{len(output):,} line{'s' if len(output) != 1 else ''}")
    elif view.exit_code == 0:
        notes.append("no output")
    return [*notes, view.note], head_and_tail(output, _HEAD, _TAIL, theme, "dim", width)


def _lines(text: str) -> list[str]:
    """The lines of an output, blank ones at its end left out."""
    return text_lines(safe_text(text).rstrip("\n "))


def _todo_lines(view: TodoView, theme: Theme, width: int) -> list[str]:
    lines = []
    for item in view.items:
        sign, style = _TODO_SIGNS.get(item.status, _TODO_SIGNS["pending"])
        lines.append(theme.paint(style, shown_line(f"{sign} {safe_line(item.text, 500)}", width)))
    return lines


def _whole(text: str, theme: Theme, style: Style, width: int) -> list[str]:
    return wrapped_whole(visible_text(text), theme, style, width, _APPROVAL_LINES) if text else []
