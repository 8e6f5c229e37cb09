"""`/rewind`: back to an earlier message, the conversation, the files, or both; and back again."""

from __future__ import annotations

import time
from collections.abc import Callable

from mewcode.agent.rewind import RewindReport, points, preview, preview_undo, undo_rewind
from mewcode.agent.rewind import rewind as go_back
from mewcode.agent.session import Session
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.commands.archive import IN_TURN
from mewcode.repl.commands.registry import Desk, Later, Outcome, Pick, Rewound, Say
from mewcode.repl.panel import Option
from mewcode.repl.rewind_view import conflict_title, point_options, preview_title, report_words

_TITLE_CELLS = 60
_UNDO = "/rewind undo takes it back."


async def rewind(desk: Desk, argument: str) -> Outcome:
    """Without an argument lists the user's messages; ``undo`` takes the last rewind back."""
    session = desk.session
    if desk.in_turn:
        return IN_TURN
    if argument == "undo":
        return await _ask_undo(session)
    if argument:
        return Say(f"/rewind takes no {safe_line(argument, 40)!r}", "/rewind, or /rewind undo")
    known = await points(session)
    if not known:
        return Say("there is no message to go back to yet")
    titles = {point.id: safe_line(point.text, _TITLE_CELLS) for point in known}
    return Pick(
        "go back to before which message?",
        point_options(known, time.time()),
        lambda point: Later(lambda: _ask_what(session, point, titles[point])),
        len(known) - 1,
    )


async def _ask_what(session: Session, point: str, title: str) -> Outcome:
    """What is to be restored; where it is only the conversation that can be, there is less to choose."""
    changes = await preview(session, point)
    possible = any(not change.impossible for change in changes)
    files = (
        Option("both", "The conversation and the files"),
        Option("conversation", "The conversation only", "files stay as they are"),
        Option("files", "The files only", "the conversation goes on from here"),
    )
    options = files if possible else (Option("conversation", "The conversation"),)

    def chosen(what: str) -> Outcome:
        if what == "cancel":
            return Say("nothing was changed")
        conversation, wants_files = what in ("both", "conversation"), what in ("both", "files")

        def go(force: bool) -> Outcome:
            return Later(lambda: _go(session, point, title, conversation, wants_files, force))

        conflicts = [change for change in changes if change.conflict]
        return _ask_conflicts(conflict_title(conflicts), go) if wants_files and conflicts else go(False)

    return Pick(preview_title(title, changes), (*options, Option("cancel", "Cancel")), chosen)


async def _ask_undo(session: Session) -> Outcome:
    async def undo(force: bool) -> Outcome:
        return _shown(await undo_rewind(session, force=force), "back to where it was")

    conflicts = [change for change in await preview_undo(session) if change.conflict]
    if not conflicts:
        return await undo(False)
    return _ask_conflicts(conflict_title(conflicts), lambda force: Later(lambda: undo(force)))


def _ask_conflicts(title: str, go: Callable[[bool], Outcome]) -> Outcome:
    options = (
        Option("keep", "Leave those as they are", "and restore the others"),
        Option("force", "Restore them too", "what was changed since is lost in them; an undo brings it back"),
        Option("cancel", "Cancel"),
    )

    def chosen(what: str) -> Outcome:
        return Say("nothing was changed") if what == "cancel" else go(what == "force")

    return Pick(title, options, chosen)


async def _go(
    session: Session, point: str, title: str, conversation: bool, files: bool, force: bool
) -> Outcome:
    report = await go_back(session, point, conversation=conversation, files=files, force=force)
    return _shown(report, f"rewound to: {title}")


def _shown(report: RewindReport, title: str) -> Outcome:
    text, details = report_words(report)
    hint = "\n".join(filter(None, (details, _UNDO)))
    return Rewound(title, text, hint, report.text) if report.conversation else Say(text, hint)
