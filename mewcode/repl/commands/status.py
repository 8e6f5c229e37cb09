"""`/status`: a snapshot of everything that bears on what happens next."""

from __future__ import annotations

import time
from pathlib import Path

from mewcode._version import __version__
from mewcode.infra.redact import redact_url
from mewcode.permissions.modes import DESCRIPTIONS
from mewcode.prompt.environment import git_branch
from mewcode.repl.commands.costs import dollars
from mewcode.repl.commands.registry import Desk, Outcome, Table, Tables
from mewcode.repl.statusline import short_folder

Row = tuple[str, str]


async def status(desk: Desk, argument: str) -> Outcome:
    return Tables(
        (
            Table("session", (*_session(desk),)),
            Table("model", (*_model(desk),)),
            Table("workspace", (*_workspace(desk),)),
            Table("terminal", (*_terminal(desk),)),
        )
    )


def _session(desk: Desk) -> tuple[Row, ...]:
    session = desk.session
    background = [
        f"{name}: {process.command}" for name, process in session.tools.session.shell.background.items()
    ]
    work = list(session.background.running)
    return (
        ("mewcode", __version__),
        ("session", session.id),
        ("file", _path(desk, session.archive.folder)),
        ("saved", session.archive.failing or "yes"),
        ("messages", f"{len(session.agent.conversation.messages):,}"),
        ("queue", "\n".join(desk.queued) or "empty"),
        ("notes", _notes(desk)),
        ("background", "\n".join([*background, *work]) or "nothing"),
    )


def _notes(desk: Desk) -> str:
    """Whether notes are taken, and what that has cost today."""
    noting = desk.session.noting
    if noting is None:
        return "off"
    budget = noting.budget
    spent = f"{budget.spent():,} of {budget.limit:,} tokens used today"
    return f"off for this session; {spent}" if noting.is_off else f"on; {spent}"


def _path(desk: Desk, path: Path) -> str:
    home = desk.session.around.environ.get("HOME")
    return short_folder(path, Path(home)) if home else str(path)


def _model(desk: Desk) -> tuple[Row, ...]:
    session = desk.session
    model, service, used = session.model, session.service, session.context_tokens
    window = f"{used:,} of {model.context_window:,} tokens ({100 * used // model.context_window} %)"
    return (
        ("model", model.name or "not chosen yet"),
        ("provider", f"{service.name} ({service.protocol})"),
        ("base URL", redact_url(service.endpoint.base_url) or "the cloud's own"),
        ("context", window),
        ("cost", dollars(session.agent.cost_usd)),
    )


def _workspace(desk: Desk) -> tuple[Row, ...]:
    session = desk.session
    around, tools = session.around, session.tools.session
    places = around.places
    trusted = "trusted" if around.trusted else "not trusted: settings that could run commands are ignored"
    return (
        ("mode", f"{session.mode}: {DESCRIPTIONS[session.mode]}"),
        ("folder", _path(desk, tools.cwd)),
        ("root", _path(desk, tools.root)),
        ("added", "\n".join(_path(desk, folder) for folder in tools.add_dirs) or "no folder"),
        ("branch", git_branch(places.root) or "none"),
        ("trust", trusted),
        ("config", "\n".join(around.config_sources()) or "defaults only"),
        ("sessions", _upkeep(desk)),
    )


def _upkeep(desk: Desk) -> str:
    """What the daily upkeep of the archive did last."""
    from mewcode.sessions.upkeep import last_report, report_text  # nothing that a start needs

    session, now = desk.session, time.time()
    if not session.settings.prune:
        return "all kept: sessions.prune is off"
    report = last_report(session.around.places.project / "sessions", now)
    return "not looked through yet" if report is None else report_text(report, now)


def _terminal(desk: Desk) -> tuple[Row, ...]:
    environ = desk.session.around.environ
    name = " ".join(filter(None, (environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")))) or "unknown"
    within = " within tmux" if environ.get("TMUX") else ""
    return (
        ("terminal", f"{name}{within}, {desk.columns} columns by {desk.rows} rows"),
        ("theme", desk.theme),
    )
