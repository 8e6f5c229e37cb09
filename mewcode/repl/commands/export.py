"""`/export`: this session as a file that others can read."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mewcode.agent.session import Session
from mewcode.core.errors import SessionError
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.commands.registry import Desk, Outcome, Say
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.export import exported, free_name, kind_of, write_export
from mewcode.sessions.export_facts import facts_of

_RAW = "--raw"


async def export(desk: Desk, argument: str) -> Outcome:
    """Takes the name of a file, whose suffix says the form, and ``--raw``."""
    words = argument.split(" ")
    raw = _RAW in words
    name = " ".join(word for word in words if word != _RAW).strip()
    path, size = await asyncio.to_thread(_export, desk.session, name, raw)
    hint = "Nothing was blacked out in it." if raw else "What looks like a secret was blacked out in it."
    cwd = desk.session.around.places.cwd
    shown = path.relative_to(cwd) if path.is_relative_to(cwd) else path
    return Say(
        f"written to {safe_line(str(shown), 500)} ({size:,} bytes)", f"{hint} Read it before you pass it on."
    )


def _export(session: Session, name: str, raw: bool) -> tuple[Path, int]:
    folder = session.archive.folder
    if not (folder / CONVERSATION).is_file():
        raise SessionError("there is nothing to export yet")
    around = session.around
    cwd = around.places.cwd
    known = [value for variable in around.secret_names if (value := around.environ.get(variable))]

    def clean(text: str) -> str:
        return text if raw else redact(text, known)

    facts = facts_of(folder)
    target = cwd / _unquoted(name).expanduser() if name else free_name(cwd, facts, clean)
    return target, write_export(target, exported(facts, kind_of(target), clean))


def _unquoted(name: str) -> Path:
    quoted = len(name) > 1 and name[0] == name[-1] and name[0] in "\"'"
    return Path(name[1:-1] if quoted else name)
