"""Reads a session back: every message that can be read, whatever else the files hold, and no more than is
wanted."""

from __future__ import annotations

from pathlib import Path

from mewcode.sessions.loaded import LoadedSession

__all__ = ["LoadedSession", "load_history", "load_session", "read_seal"]


def load_session(folder: Path, *, tokens: int | None = None, enough: int | None = None) -> LoadedSession:
    """Loads what a resume needs; raises SessionError where the file cannot be opened or read.

    The conversation begins at the last marker of a compaction that leads to the head; what stands before is
    read only where a rewind or a fork leads there. With ``tokens`` the newest messages of about so many
    suffice (see `newest`): time and memory no longer grow with the file, while those that are returned are
    the same, but that a result of more than 32 MB is only mentioned. ``enough``: so many of the newest
    tokens are wanted where the conversation evidently has more than ``tokens``, and so will be summed up.

    Lines end at ``\\n`` only. A line that is no record is skipped and counted; complete records at its end
    are salvaged. A parent that is not an earlier record is taken to be the message before, so there are no
    cycles; a file that names no parent is one line of messages. A repeated record is left out; another
    message under an id already used gets an id of its own, and later records that name the id mean it.
    """
    from mewcode.sessions.loading import load_conversation  # most runs begin a session and read none

    return load_conversation(folder, tokens, enough)


def load_history(folder: Path) -> LoadedSession:
    """As `load_session`, with all messages of the branch that leads to the head, as they were first written:
    across markers, from the start of the oldest file that a fork continues. Every line is looked at.

    ``start`` is where a resume would begin.
    """
    from mewcode.sessions.loading import load_everything

    return load_everything(folder)


def read_seal(folder: Path) -> str:
    """`LoadedSession.seal` alone, for which no more than the first 64 KB are looked at; raises SessionError
    where the file cannot be opened or read."""
    from mewcode.sessions.loading import load_seal

    return load_seal(folder)
