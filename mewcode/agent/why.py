"""Why the last answer was as it was, as far as notes go: which of them stood before it, and what each rests
on. Nothing is kept for it while a turn runs: it is read from the conversation, the prompt and the archive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mewcode.agent.notes_used import UsedNote, last_turn, notes_in_prompt, notes_in_turn
from mewcode.core.errors import SessionError
from mewcode.core.message import Message
from mewcode.infra.paths import Places
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.view import Answer, NoteView
from mewcode.memory.deleted import deleted_entry
from mewcode.memory.entry import Entry
from mewcode.memory.past_index import prompt_text_at
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.cited import find_cited, is_id
from mewcode.sessions.workspaces import known_roots, work_trees, workspace_of

_HOWS = ("recalled", "read", "searched", "told", "core rule", "index")
"""In the order in which they are told: what was asked for first."""
_MOST_TEXT = 160
"""Characters of a line that is quoted."""


class Asked(msgspec.Struct, frozen=True):
    """The conversation that is asked about. ``prompt``: the part of the system prompt that held the notes;
    None where it is known no more, and what the history says takes its place."""

    session_id: str
    folder: Path
    messages: Sequence[Message]
    prompt: str | None = None


class Source(msgspec.Struct, frozen=True):
    """What a note rests on. ``line``: of ``file`` in the session's folder, 0 where it is not known, of which
    ``problem`` is the reason; ``text``: what it says, shortened, without secrets."""

    session: str
    record: str = ""
    file: str = ""
    line: int = 0
    text: str = ""
    problem: str = ""

    @property
    def words(self) -> str:
        if self.problem:
            return f"session {self.session}: {self.problem}"
        where = "" if self.file == CONVERSATION else f" of {self.file}"
        return f"session {self.session}, line {self.line}{where}: {self.text}"


def why_of_session(view: NoteView, places: Places, wanted: str = "") -> Answer:
    """As `why`, for the newest session of the workspace, or the one that is named. Raises SessionError and
    NoteError."""
    from mewcode.sessions.find import find_session, newest_session
    from mewcode.sessions.reader import load_session

    sessions = places.project / "sessions"
    folder = find_session(sessions, wanted) if wanted else newest_session(sessions)
    if folder is None:
        raise SessionError("this workspace has no session yet")
    return why(view, places, Asked(folder.name, folder, load_session(folder).messages))


def why(view: NoteView, places: Places, asked: Asked) -> Answer:
    """Takes the disk's time: each line of a session is looked up that a note rests on. Raises NoteError and
    SessionError."""
    turn = last_turn(asked.messages)
    if not turn:
        raise SessionError("there is no answer yet")
    prompt = asked.prompt
    if prompt is None:
        prompt = prompt_text_at(view.store, _began(asked))
    used = _by_note(view, [*notes_in_turn(turn), *notes_in_prompt(prompt)])
    sources = _Sources(places)
    notes = [
        _Told(entry, tuple(sorted(hows, key=_strength)), tuple(sources.of(entry))) for entry, hows in used
    ]
    notes.sort(key=lambda told: _strength(told.hows[0]))
    is_sure = asked.prompt is not None
    count = f"{len(notes)} note{'s' if len(notes) != 1 else ''}" if notes else "no note"
    lines = [f"{count} stood before the last answer of session {safe_line(asked.session_id, 80)}"]
    if not is_sure and any(note.how == "index" for told in notes for note in told.hows):
        lines.append("(those in the prompt: as the history has them for when this conversation began)")
    for told in notes:
        lines += _lines(told)
    value = {
        "session": asked.session_id,
        "prompt": "as sent" if is_sure else "from the history",
        "notes": [_value(told) for told in notes],
    }
    return Answer(value, tuple(lines))


class _Told(msgspec.Struct, frozen=True):
    entry: Entry
    hows: tuple[UsedNote, ...]
    sources: tuple[Source, ...]


def _began(asked: Asked) -> float:
    """When the conversation began, as it stands now: at its first message, or at the last compaction."""
    try:
        cited = find_cited(asked.folder, asked.messages[0].id)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SessionError(f"session {asked.session_id} cannot be read: {reason}") from error
    return cited.ts if cited is not None else 0.0


def _by_note(view: NoteView, used: Iterable[UsedNote]) -> list[tuple[Entry, list[UsedNote]]]:
    """The notes that there are, or were, each with all the ways in which it came. What was only saved or
    forgotten in that turn is left out."""
    there = view.store.entries()
    deleted = [deleted_entry(*gone) for gone in view.store.forgotten()]
    found: dict[tuple[str, str], tuple[Entry, list[UsedNote]]] = {}
    for note in used:
        if note.how not in _HOWS:
            continue
        entry = _entry(note, there) or _entry(note, deleted)
        if entry is None:
            continue
        hows = found.setdefault((entry.level, entry.file), (entry, []))[1]
        if not any((one.how, one.score) == (note.how, note.score) for one in hows):
            hows.append(note)
    return list(found.values())


def _entry(note: UsedNote, entries: Sequence[Entry]) -> Entry | None:
    same = [entry for entry in entries if entry.file == note.file and note.level in (None, entry.level)]
    named = [entry for entry in same if entry.name == note.name]
    return next(iter(named or same), None)


class _Sources:
    """Finds what notes rest on: in the sessions of this repository's work trees. What another workspace's
    session said stays there; that it is there is said."""

    def __init__(self, places: Places) -> None:
        trees = (workspace_of(root, places.user).sessions_dir for root in work_trees(places.root))
        self._own = (places.project / "sessions", *trees)
        self._user = places.user

    def of(self, entry: Entry) -> list[Source]:
        return [self._find(*source.partition("/")[::2]) for source in entry.source]

    def _find(self, session: str, record: str) -> Source:
        shown = safe_line(session, 80)
        if not is_id(session):
            return Source(shown, problem="no session is called so")
        folder = next((one / session for one in self._own if (one / session / CONVERSATION).is_file()), None)
        if folder is None:
            return Source(shown, record, problem=self._elsewhere(session))
        if not record:
            return Source(shown, problem="typed there by the user as a note")
        try:
            cited = find_cited(folder, record)
        except OSError as error:
            return Source(shown, record, problem=f"it cannot be read: {error.strerror or error}")
        if cited is None:
            return Source(shown, record, problem="it holds that record no more")
        text = safe_line(redact(cited.text), _MOST_TEXT)
        return Source(shown, record, cited.file, cited.line, text)

    def _elsewhere(self, session: str) -> str:
        for root in known_roots(self._user):
            if (workspace_of(root, self._user).sessions_dir / session / CONVERSATION).is_file():
                return f"it belongs to {safe_line(str(root), 200)}"
        return "it is gone"


def _lines(told: _Told) -> list[str]:
    entry = told.entry
    hows = ", ".join(_how(note) for note in told.hows)
    lines = [f"[{entry.type}] {safe_line(entry.name, 120)}  ({entry.level}; {hows})"]
    lines += [f"    {source.words}" for source in told.sources]
    return lines if told.sources else [*lines, f"    rests on no session: from {entry.origin}"]


def _strength(note: UsedNote) -> int:
    return _HOWS.index(note.how)


def _how(note: UsedNote) -> str:
    return note.how if note.score is None else f"{note.how} {note.score:.2f}"


def _value(told: _Told) -> dict[str, Any]:
    entry = told.entry
    return {
        "level": entry.level, "file": entry.file, "type": entry.type, "name": entry.name,
        "origin": entry.origin, "how": [{"how": note.how, "score": note.score} for note in told.hows],
        "sources": told.sources,
    }  # fmt: skip
