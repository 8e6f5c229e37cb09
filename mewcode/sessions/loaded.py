"""What is known of a session when it is read back."""

from __future__ import annotations

from typing import Any

import msgspec

from mewcode.core.message import Message
from mewcode.sessions.record import Totals


class LoadedSession(msgspec.Struct, frozen=True):
    """``messages``: the conversation that leads to the head, first to last.

    ``mode``, ``provider``, ``cwd``: as last recorded, empty where unknown; ``model``: the last one named.
    ``totals``: the last usage record, plus what the messages behind it used (in tokens; its cost stays); what
    a fork's forerunner had used is in it. ``skipped``: records, lines or pieces of lines that were left out.
    ``salvaged``: records found at the end of a broken line. ``damage``: what was skipped or repaired, in
    words. ``last_ts``: Unix time of the last record that has one, else 0. ``last_id``: the head, which the
    next message follows: the last message or marker, or where a rewind led; None before the first message.
    ``seal``: the mark of the session record that names this session, empty where there is none.

    ``start``: the byte at which the conversation begins: that of its marker or, where it was cut, of its
    first message; 0 for the start. Bytes of the files that a fork continues come before its own.
    ``is_whole``: certainly nothing of the conversation stands before ``messages``. ``turns``: the user's
    messages in file order, those that were not read included. ``turn_of``: the numbers of those in
    ``messages`` that are known, by id. ``reads``: what the model has read, by path, newest state; behind a
    marker only since then. ``replaced``: the lines that stand in ``messages`` for tool results, by the ids of
    messages; in a whole history (`load_history`) they do not stand there yet, and are those of all branches.
    ``follows``: of a whole history, the record that each message follows in the files, by its id: a message,
    a marker or None for the start.
    ``title``: the user's, else the one that was made. ``parent_session``: what a fork
    continues. ``unknown``: which of mode, model, provider, totals, turns and title may be older than the
    truth, since no record of the part that was read says. ``noted``: the last of ``messages`` that was looked
    through for notes, with all before it; empty where none was, as far as is known.
    """

    id: str
    messages: tuple[Message, ...]
    mode: str
    model: str
    provider: str
    cwd: str
    totals: Totals
    skipped: int
    salvaged: int
    damage: list[str]
    last_ts: float
    last_id: str | None
    seal: str = ""
    is_whole: bool = True
    start: int = 0
    turns: int = 0
    turn_of: dict[str, int] = {}
    reads: dict[str, dict[str, Any]] = {}
    replaced: dict[str, str] = {}
    follows: dict[str, str | None] = {}
    title: str = ""
    parent_session: str = ""
    unknown: tuple[str, ...] = ()
    noted: str = ""

    @property
    def sure_turns(self) -> int:
        """``turns``, 0 where there may have been others."""
        return 0 if "turns" in self.unknown else self.turns
