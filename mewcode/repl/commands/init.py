"""`/init`: a first MEWCODE.md, by MewCode or by the model. What is there is never overwritten."""

from __future__ import annotations

import os
from pathlib import Path

from mewcode.agent.session import Session
from mewcode.core.errors import SessionError
from mewcode.core.outcome import DiffView
from mewcode.infra.atomic import write_new
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_line
from mewcode.instructions.discover import NAME, OTHER_NAMES, in_folder
from mewcode.instructions.first_draft import first_draft
from mewcode.instructions.instruction_file import Unreadable, read_instruction_file
from mewcode.repl.commands.registry import Above, Desk, Later, Outcome, Pick, Say, Send, Shown
from mewcode.repl.panel import Option
from mewcode.repl.thread_call import call_in_thread

_MODEL = "Let the model read the project and {} it"
_ITS_WAY = "it writes with its tools, which ask as always"
_UNTOUCHED = f"{NAME} is there: nothing was written"


async def init(desk: Desk, argument: str) -> Outcome:
    """Shows the draft; where there is a file already, how it differs from that."""
    if argument:
        return Say(f"/init takes no {safe_line(argument, 40)!r}", "/init alone shows what it would write.")
    places = desk.session.around.places
    path = places.root / NAME
    draft, present = await call_in_thread("draft", lambda: (_draft(places), _present(path)))
    if present is None:
        return _offer(desk.session, path, draft)
    if present == draft:
        return _improve(desk.session, f"{_UNTOUCHED}; it says what a draft would say")
    shown = Shown(f"a draft of {NAME} would differ so:", DiffView(NAME, present, draft))
    return Above(shown, _improve(desk.session, _UNTOUCHED))


def _draft(places: Places) -> str:
    """With what other agents are told here, which is not read any more once there is a file of ours."""
    found = [item.path.name for item in in_folder(places.root, places) if not item.is_rule]
    others = [name for name in found if name in OTHER_NAMES]
    draft = first_draft(places.root)
    return f"{draft}\n@include {others[0]}\n" if others else draft


def _present(path: Path) -> str | None:
    """The text of the file that is there, None for none. Raises SessionError where it is no text."""
    if not os.path.lexists(path):
        return None
    try:
        return read_instruction_file(path.resolve()).text
    except (Unreadable, OSError, RuntimeError) as error:
        raise SessionError(f"{_UNTOUCHED}, and it cannot be read: {error}") from error


def _offer(session: Session, path: Path, draft: str) -> Outcome:
    options = (
        Option("write", "Write it", safe_line(str(path), 200)),
        Option("model", _MODEL.format("write"), _ITS_WAY),
        Option("cancel", "Cancel"),
    )

    def chosen(what: str) -> Outcome:
        if what == "write":
            return Later(lambda: _write(path, draft))
        return _send(session) if what == "model" else Say("nothing was written")

    shown = Shown(f"a first {NAME}:", DiffView(NAME, "", draft, created=True))
    return Above(shown, Pick(f"Write {NAME}?", options, chosen))


def _improve(session: Session, title: str) -> Pick:
    options = (
        Option("leave", "Leave it as it is"),
        Option("model", _MODEL.format("improve"), _ITS_WAY),
    )
    return Pick(title, options, lambda what: _send(session) if what == "model" else Say(_UNTOUCHED))


async def _write(path: Path, draft: str) -> Outcome:
    data = draft.encode("utf-8", "replace")
    try:
        await call_in_thread("write", lambda: write_new(path, data))
    except FileExistsError:
        return Say(
            f"{NAME} is there by now: nothing was written", "/init shows how it differs from the draft."
        )
    except OSError as error:
        raise SessionError(f"{path} cannot be written: {error.strerror or error}") from error
    return Say(
        f"written: {safe_line(str(path), 200)} ({len(data):,} bytes)", "It holds from your next message on."
    )


def _send(session: Session) -> Outcome:
    """The path is put relative to the working folder: nothing in it can look like a mention."""
    places = session.around.places
    path = os.path.relpath(places.root / NAME, places.cwd)
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    return Send(text.replace("{path}", path).strip())
