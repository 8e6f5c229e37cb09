"""The question before a tool runs: what it would do, and the answers there are."""

from __future__ import annotations

from mewcode.core.events import ApprovalAnswer, ApprovalChoice, ApprovalRequest
from mewcode.core.outcome import CommandView, DiffView
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.panel import Chosen, Option, Panel
from mewcode.repl.theme import Theme
from mewcode.repl.tool_views import approval_view

_CHOICES: dict[str, ApprovalChoice] = {"once": "once", "session": "session", "project": "project"}


def approval_panel(request: ApprovalRequest, theme: Theme, width: int) -> tuple[str, Panel]:
    """What is shown above (the diff or the command, in the scrollback) and the panel. Enter takes "once";
    rules are offered only where the policy names one."""
    # A diff and a command say themselves what they are about.
    summary = "" if isinstance(request.view, DiffView | CommandView) else request.summary
    head = theme.paint("warn", "● " + safe_line(f"{request.tool} {summary}", width - 3))
    view = f"\n{approval_view(request.view, theme, width)}" if request.view is not None else ""
    options = [Option("once", "Yes", "this once")]
    if request.rule:
        options += [
            Option("session", "Yes, for this session", request.rule),
            Option("project", "Yes, always in this project", request.rule),
        ]
    options += [
        Option("no", "No", "MewCode goes on without it"),
        Option("reason", "No, and say why", "MewCode reads your words", asks_text=True),
    ]
    return f"\n{head}{view}", Panel(f"Allow {request.tool}?  {request.reason}", tuple(options))


def answer_of(chosen: Chosen | None) -> ApprovalAnswer:
    """Esc denies and stops the turn."""
    if chosen is None:
        return ApprovalAnswer("deny", stop=True)
    if choice := _CHOICES.get(chosen.value):
        return ApprovalAnswer(choice)
    return ApprovalAnswer("deny", chosen.text)
