"""`/resume` and `/fork`: the way to other conversations."""

from __future__ import annotations

from pathlib import Path

from mewcode.repl.commands.registry import Desk, OpenSession, Outcome, PickSession, Resumed, Say
from mewcode.repl.replay import resumed_words

IN_TURN = Say("a turn is running", "Esc stops it; then it can be done.")


async def resume(desk: Desk, argument: str) -> Outcome:
    """Takes an id, the unique beginning of one, or a name; without an argument opens the picker."""
    session = desk.session
    if desk.in_turn:
        return IN_TURN
    if not argument:
        return PickSession(lambda folder: _open(desk, folder))
    from mewcode.sessions.find import find_session

    return _open(desk, find_session(session.around.places.project / "sessions", argument))


def _open(desk: Desk, folder: Path) -> Outcome:
    session = desk.session

    async def open_(fork: bool) -> Outcome:
        found = await session.resume(folder, fork=fork, emit=desk.emit)
        text, hint = resumed_words(found)
        notes = (*found.notes, found.left_out) if found.left_out else found.notes
        return Resumed(text, hint, notes, session.settings.shown)

    def trust(root: Path) -> None:
        from mewcode.config.trust import TrustStore

        TrustStore(session.around.places.user).trust(root)

    return OpenSession(open_, trust)


async def fork(desk: Desk, argument: str) -> Outcome:
    if desk.in_turn:
        return IN_TURN
    old, new = await desk.session.fork()
    return Say(f"this goes on in a new session: {new}", f"The old one stays as it is: mewcode -r {old}")
