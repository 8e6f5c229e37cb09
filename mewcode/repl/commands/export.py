"""`/export`: this session as a file that others can read."""

from __future__ import annotations

from pathlib import Path

from mewcode.agent.session import Session
from mewcode.core.errors import SessionError
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.commands.registry import Desk, Later, Outcome, Say
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.export import check_target, exported, free_name, kind_of, write_export
from mewcode.sessions.export_facts import facts_of
from mewcode.tools.in_thread import Stop, in_thread

_RAW = "--raw"


async def export(desk: Desk, argument: str) -> Outcome:
    """Takes the name of a file, whose suffix says the form, and ``--raw``."""
    words = argument.split(" ")
    raw = _RAW in words
    name = " ".join(word for word in words if word != _RAW).strip()
    return Later(lambda: _done(desk, name, raw), "exporting")


async def _done(desk: Desk, name: str, raw: bool) -> Outcome:
    path, size = await in_thread(lambda stop: _export(desk.session, name, raw, stop))
    hint = "Nothing was blacked out in it." if raw else "What looks like a secret was blacked out in it."
    cwd = desk.session.around.places.cwd
    shown = path.relative_to(cwd) if path.is_relative_to(cwd) else path
    return Say(
        f"written to {safe_line(str(shown), 500)} ({size:,} bytes)", f"{hint} Read it before you pass it on."
    )


def _export(session: Session, name: str, raw: bool, stop: Stop) -> tuple[Path, int]:
    folder = session.archive.folder
    if not (folder / CONVERSATION).is_file():
        raise SessionError("there is nothing to export yet")
    around = session.around
    cwd = around.places.cwd
    known = [value for variable in around.secret_names if (value := around.environ.get(variable))]

    def clean(text: str) -> str:
        stop.check()
        return text if raw else redact(text, known)

    target = cwd / _unquoted(name).expanduser() if name else None
    if target is not None:
        kind_of(target)
        check_target(target)
    facts = facts_of(folder, stop.check)
    target = target or free_name(cwd, facts, clean)
    text = exported(facts, kind_of(target), clean)
    stop.check()
    return target, write_export(target, text)


def _unquoted(name: str) -> Path:
    quoted = len(name) > 1 and name[0] == name[-1] and name[0] in "\"'"
    return Path(name[1:-1] if quoted else name)
