"""What a session does with notes: for the model's tools, and for what the user types."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from mewcode.core.errors import NoteError
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.changes import UNDONE, Create, Forget, Outcome, Ref, Request, Supersede
from mewcode.memory.entry import MOST_DESCRIPTION, Entry
from mewcode.memory.extract.wording import SUSPICIOUS, dated, dated_line, is_instruction
from mewcode.memory.find import matching
from mewcode.memory.liveness import check_note, dead_words
from mewcode.memory.names import identity
from mewcode.memory.note import Note, clean_body, level_of
from mewcode.memory.store import NoteStore
from mewcode.note_tools.found import Found
from mewcode.note_tools.guess import name_of
from mewcode.note_tools.search import best_matches
from mewcode.prompt.notes import fenced

if TYPE_CHECKING:
    from mewcode.memory.liveness import Tree
    from mewcode.memory.note import Level, Origin, Type
    from mewcode.note_tools.tools import SaveNoteArgs

_LOG = logging.getLogger("mewcode.memory")
_ORIGINS: dict[str, Origin] = {"conversation": "agent", "tool": "tool", "web": "web"}
"""What the model says is never the user's own word: a page could make it say so."""
_MOST_NAMED = 5


class Done(msgspec.Struct, frozen=True):
    """What became of a change: words for the model and for the user."""

    told: str
    shown: str
    failed: bool = False


class NoteDesk:
    """All of it waits for the disk, and for other writers: call it in a thread. Raises NoteError.
    ``session_id`` gives the session at this moment, ``clock`` Unix time. ``tree``: what notes are held
    against when they are read."""

    def __init__(
        self,
        store: NoteStore,
        session_id: Callable[[], str],
        clock: Callable[[], float] = time.time,
        tree: Tree | None = None,
    ) -> None:
        self.store = store
        self._session_id = session_id
        self._clock = clock
        self._tree = tree

    def save(self, args: SaveNoteArgs, call_id: str) -> Done:
        """Keeps what the model noted."""
        source = f"{self._session_id()}/{call_id}"
        today = self._today()
        origin, said = _ORIGINS[args.rests_on], (args.name, args.description, args.body, *args.aliases)
        reads_like_an_order = is_instruction("\n".join(said), origin)
        note = Note(
            name=args.name,
            type=args.type,
            level=args.level or level_of(args.type),
            description=dated_line(args.description, today, MOST_DESCRIPTION),
            body=dated(args.body, today),
            tags=(SUSPICIOUS,) if reads_like_an_order else (),
            aliases=tuple(args.aliases),
            # A page may have had the model say so: it waits for the user's yes.
            origin="tool" if reads_like_an_order and origin == "agent" else origin,
            source=(source,),
        )
        near = self.store.similar(note)
        request: Request = Create(note)
        if args.replaces:
            old = self._one(args.replaces)
            request = Supersede(_ref(old), msgspec.structs.replace(note, level=old.level))
            near = [entry for entry in near if entry.file != old.file]
        outcome = self.store.apply([request], by="agent", source=source).outcomes[0]
        done = _said(outcome)
        if near and not done.failed:
            names = ", ".join(safe_line(entry.name, 120) for entry in near[:_MOST_NAMED])
            done = msgspec.structs.replace(done, told=f"{done.told} There are similar notes: {names}.")
        return done

    def search(self, query: str, limit: int) -> Found:
        """The notes in force that hold words of the query, the best first."""
        found = best_matches(query, self.store.live(), self._body)
        if not found:
            return Found("No note holds these words. Try others, or another language.", "no notes")
        self._count(found[:limit], "recall")
        lines = [_line(entry) for entry in found[:limit]]
        count = "1 note" if len(found) == 1 else f"{len(found)} notes"
        more = f"\n({len(found) - limit} more)" if len(found) > limit else ""
        return Found(fenced("\n".join(lines)) + more, count, "\n".join(lines))

    def read(self, name: str, *, counts: bool = True) -> Found:
        """A note whole, without secrets; it ``counts`` as a use of it."""
        entry = self._one(name)
        read = self.store.read(entry.level, entry.file)
        body = redact(read.note.body) if read is not None else ""
        dead = dead_words(check_note(read.note, self._tree)) if read is not None and self._tree else ""
        if counts:
            self._count([entry], "read")
        facts = [entry.level, f"updated {entry.updated[:10] or 'unknown'}", f"from {entry.origin}"]
        state = entry.state(self._clock())
        facts += [state] if state != "live" else []
        body = f"{body}\n\n({dead})" if dead else body
        said = f"{_line(entry)}\n({', '.join(facts)})\n\n{body}"
        return Found(fenced(said), f"{entry.name} ({', '.join(facts)})", body)

    def forget(self, name: str, call_id: str) -> Done:
        """Deletes a note. The tool asks first, so it counts as the user's deed: the note does not come back
        by itself."""
        source = f"{self._session_id()}/{call_id}"
        request = Forget(_ref(self._one(name)))
        applied = self.store.apply([request], by="user", source=source, reason="by way of forget_note")
        return _said(applied.outcomes[0])

    def take(self, text: str, kind: Type, level: Level) -> tuple[Done, str]:
        """Keeps what the user typed, and the words to tell the model of it; "" where nothing is new."""
        name, text = name_of(redact(text)), dated(redact(text), self._today())
        note = Note(name=name, type=kind, level=level, body=text, source=(self._session_id(),))
        note = msgspec.structs.replace(note, name=self._free_name(note))
        outcome = self.store.apply([Create(note)], by="user", source=self._session_id()).outcomes[0]
        done = _said(outcome)
        if done.failed:
            raise NoteError(f"the note was not kept: {done.shown}")
        told = f"The user noted this for later sessions ({outcome.file}). It holds from now on:"
        return done, "" if outcome.kind == "unchanged" else f"{told}\n{fenced(text)}"

    def _free_name(self, note: Note) -> str:
        """The note's name, with a number where another text has that name already: a name that was made of
        the first words is nobody's wish to replace what began alike."""
        taken = {entry.identity: entry for entry in self.store.entries(note.level)}
        name, number = note.name, 2
        while (entry := taken.get(identity(note.level, note.type, name))) is not None:
            if self._body(entry) == clean_body(note.body):
                return entry.name
            name, number = f"{note.name} ({number})", number + 1
        return name

    def _today(self) -> dt.date:
        return dt.datetime.fromtimestamp(self._clock()).date()

    def _one(self, name: str) -> Entry:
        found = matching(name, self.store.entries(), self._clock())
        if len(found) == 1:
            return found[0]
        if not found:
            raise NoteError(f"there is no note {safe_line(name)}", "search_notes finds what there is.")
        files = ", ".join(entry.file for entry in found[:_MOST_NAMED])
        raise NoteError(f"{len(found)} notes could be {safe_line(name)}: {files}", "Name a file.")

    def _body(self, entry: Entry) -> str:
        read = self.store.read(entry.level, entry.file)
        return redact(read.note.body) if read is not None else ""

    def _count(self, entries: list[Entry], how: str) -> None:
        """A use that cannot be counted is no reason to withhold what was found."""
        try:
            self.store.used(entries, how)
        except NoteError as error:
            _LOG.warning("the use of notes was not counted: %s", error.message)


def _ref(entry: Entry) -> Ref:
    return Ref(entry.level, entry.file)


def _line(entry: Entry) -> str:
    said = f" — {entry.line}" if entry.line else ""
    return f"- {entry.file} [{entry.type}] {entry.name}{said}"


def _said(outcome: Outcome) -> Done:
    """What became of a request, in words."""
    name = safe_line(outcome.name, 120)
    if outcome.kind == "unchanged":
        return Done(f"Nothing new: the note {name} says so already.", f"nothing new: {name}")
    if outcome.kind in UNDONE:
        reason = outcome.reason or outcome.kind
        return Done(f"Nothing was changed: {reason}.", reason, failed=True)
    if outcome.kind == "forgotten":
        return Done(f"Forgotten: {name}.", f"forgot: {name} · /memory undo brings it back")
    if outcome.kind in ("inbox", "conflict"):
        why = "it contradicts what has more weight" if outcome.kind == "conflict" else "of where it is from"
        return Done(
            f"The note {name} waits for the user's yes, because {why}.", f"waits for your yes: {name}"
        )
    if outcome.kind == "weaker":
        told = f"Kept as not in force: what it contradicts has more weight ({safe_line(outcome.other)})."
        return Done(told, f"not in force: {name}")
    told = f"Noted: {name} ({outcome.file}, {outcome.kind})."
    return Done(told, f"noted: {name} · /memory undo takes it back")
