"""What is said of notes that were taken in the background: to the user on one line, to the model with the
next message. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mewcode.core.errors import MewCodeError, NoteError
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.changes import Create, Outcome, Request, Supersede, Update
from mewcode.prompt.notes import fenced

if TYPE_CHECKING:
    from mewcode.memory.budget import Budget

_NAMED = 2
_MOST_NAME = 60
"""Characters of a name in a notice."""
_MOST_BODY = 600
"""Characters of a note's text that the model is told."""
_KEPT = ("created", "updated", "superseded", "restored")
_GONE = ("closed", "forgotten", "archived")
_HOLDS = "Noted from what was said before. It holds from now on:"
_HOLDS_NO_MORE = "These notes are no longer true:"
_UNDO, _INBOX = "/memory undo", "/memory inbox"


def notice(outcomes: Sequence[Outcome], unread: int = 0) -> str:
    """One line; "" where nothing came of it that the user should know. ``unread``: so many things in the
    model's answer made no sense."""
    kept = [outcome.name for outcome in outcomes if outcome.kind in _KEPT]
    gone = [outcome.name for outcome in outcomes if outcome.kind in _GONE]
    waiting = [outcome for outcome in outcomes if outcome.kind == "inbox"]
    weaker = [outcome for outcome in outcomes if outcome.kind in ("conflict", "weaker")]
    parts = [f"noted: {_names(kept)}"] if kept else []
    parts += [f"no longer noted: {_names(gone)}"] if gone else []
    hints = [_UNDO] if parts else []
    if waiting:
        count = "1 note waits" if len(waiting) == 1 else f"{len(waiting)} notes wait"
        parts.append(f"{count} for your yes")
    parts += [_conflict(outcome) for outcome in weaker]
    parts += [f"{unread} more in the model's answer could not be read"] if unread else []
    if waiting or any(outcome.kind == "conflict" for outcome in weaker):
        hints.append(_INBOX)
    return " · ".join((*parts, *hints))


def _conflict(outcome: Outcome) -> str:
    name, other = safe_line(outcome.name, _MOST_NAME), safe_line(outcome.other, _MOST_NAME)
    against = other or "a note that has more weight"
    return f"{name} contradicts {against}{', which stays' if outcome.kind == 'weaker' else ''}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(safe_line(name, _MOST_NAME) for name in names[:_NAMED])
    return f"{shown} (+{len(names) - _NAMED})" if len(names) > _NAMED else shown


def failure_words(error: MewCodeError) -> str:
    """Why nothing was noted, on one line."""
    what = "they could not be kept" if isinstance(error, NoteError) else "no model could be asked"
    return f"notes: {what}, it is tried again later ({error.message})"


def spent_words(budget: Budget) -> str:
    """That nothing is asked any more today."""
    spent = f"{budget.spent():,} of {budget.limit:,} tokens"
    return f"notes: today's budget is spent ({spent}); what is new waits for tomorrow"


def reminder(requests: Sequence[Request], outcomes: Sequence[Outcome]) -> str:
    """What the model is told of the notes that are in force now, and of those that are not any more; "" where
    nothing changed for it."""
    kept: list[str] = []
    gone: list[str] = []
    for request, outcome in zip(requests, outcomes, strict=True):
        name = safe_line(redact(outcome.name), 200)
        if outcome.kind in _KEPT:
            body, named = _body(request), f"- {name} ({outcome.file})"
            kept.append(f"{named}: {body}" if body else named)
            gone += [f"- {outcome.other}"] if outcome.kind == "superseded" else []
        elif outcome.kind in _GONE:
            gone.append(f"- {name}")
    said = ((_HOLDS, kept), (_HOLDS_NO_MORE, gone))
    return "\n".join(f"{words}\n{fenced(chr(10).join(lines))}" for words, lines in said if lines)


def _body(request: Request) -> str:
    text = ""
    if isinstance(request, Create | Supersede):
        text = request.note.body or request.note.description
    elif isinstance(request, Update):
        text = str(request.fields.get("body") or request.fields.get("description") or "")
    text = redact(text.strip())
    return text if len(text) <= _MOST_BODY else text[: _MOST_BODY - 1].rstrip() + "…"
