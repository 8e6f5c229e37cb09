"""What slash commands give, in plain lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mewcode.core.outcome import TodoView
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.commands import (
    Aside,
    Clear,
    Compact,
    Compose,
    Copy,
    End,
    Outcome,
    Quit,
    Resumed,
    Rewound,
    Say,
    Send,
    Shown,
    Table,
    Tables,
    UseTheme,
    WindowUse,
)
from mewcode.repl.replay import replay_plain_of
from mewcode.repl.steps import Guide, take_steps

if TYPE_CHECKING:
    from mewcode.agent.session import Session

Write = Callable[[str], None]

_WIDTH = 1000  # cells: lines are wrapped by the terminal, not by us
_STATES = {"pending": "to do", "in_progress": "in progress", "done": "done"}


async def show_plain(
    session: Session,
    outcome: Outcome,
    guide: Guide,
    write: Write,
    send: Callable[[Session, str], Awaitable[None]],
    compact: Callable[[Session, str], Awaitable[None]],
) -> bool:
    """Shows it; whether the user wants out. ``send`` begins a turn, ``compact`` sums the conversation up and
    shows how it goes. Raises `MewCodeError` where a step or a question aside fails."""
    end = await take_steps(outcome, guide, lambda above: _show(session, above, write))
    if isinstance(end, Send):
        await send(session, end.text)
    elif isinstance(end, Compact):
        await compact(session, end.keep)
    elif end is not None:
        await _show(session, end, write)
    return isinstance(end, Quit)


async def _show(session: Session, outcome: End, write: Write) -> None:
    if isinstance(outcome, Say):
        _say(write, outcome.text, outcome.hint)
    elif isinstance(outcome, Table):
        write(table_lines(outcome))
    elif isinstance(outcome, Tables):
        write("\n".join(map(table_lines, outcome.tables)))
        _say(write, outcome.note)
    elif isinstance(outcome, WindowUse):
        from mewcode.context.report import report_text

        _say(write, report_text(outcome.parts, outcome.stopped, outcome.ahead).rstrip())
    elif isinstance(outcome, Clear):
        _say(write, f"a new conversation: {session.id}")
    elif isinstance(outcome, Resumed):
        _say(write, "\n".join((outcome.text, outcome.hint, *outcome.notes)))
        write(replay_plain_of(session, outcome.exchanges))
    elif isinstance(outcome, Rewound):
        _say(write, outcome.title)
        write(replay_plain_of(session, 1))
        _say(write, outcome.text, outcome.hint)
        if outcome.draft:
            _say(write, f"Your message was:\n{outcome.draft}")
    elif not isinstance(outcome, Quit | Send | Compact):
        await _act(session, outcome, write)


async def _act(session: Session, outcome: Shown | Copy | Compose | UseTheme | Aside, write: Write) -> None:
    if isinstance(outcome, Shown):
        view = outcome.view
        if isinstance(view, TodoView):
            lines = [f"{_STATES.get(item.status, item.status)}: {item.text}" for item in view.items]
            _say(write, "\n".join([outcome.title, *lines]))
        else:
            from mewcode.repl.theme import THEMES
            from mewcode.repl.tool_views import approval_view

            _say(write, outcome.title)
            write(approval_view(view, THEMES["no-color"], _WIDTH))
    elif isinstance(outcome, Copy):
        from mewcode.repl.clipboard import copy_by_program

        program = await asyncio.to_thread(copy_by_program, outcome.text, session.around.environ)
        if program:
            _say(write, f"copied {outcome.what} by {program}")
        else:
            _say(write, "no program for the clipboard is there", "Install wl-copy, xclip or xsel.")
    elif isinstance(outcome, Aside):
        answer = await session.ask_aside(outcome.question, lambda event: None)
        _say(write, f"btw: {answer}")
    elif isinstance(outcome, UseTheme):
        _say(write, "plain lines have no colours", outcome.hint)
    else:
        _say(write, "plain lines have no editor", "Start without --plain to use it.")


def table_lines(table: Table) -> str:
    """One line a row: its cells, each behind the name of its column."""
    lines = [table.title]
    for row in table.rows:
        names = table.header or ("",) * len(row)
        cells = [
            f"{name} {cell}" if name and number else cell
            for number, (name, cell) in enumerate(zip(names, row, strict=False))
            if cell
        ]
        shown = cells[0] + ": " + ", ".join(cells[1:]) if len(cells) > 1 else "".join(cells)
        lines.append(safe_line(shown, _WIDTH))
    return "\n".join(lines) + "\n"


def _say(write: Write, text: str, hint: str = "") -> None:
    write("".join(f"{safe_text(part)}\n" for part in (text, hint) if part))
