"""What becomes of each request, worked out on levels that are held: the one place of the rules."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mewcode.core.errors import NoteError
from mewcode.memory.changes import (
    Approve,
    Archive,
    Close,
    Create,
    Forget,
    Kind,
    Move,
    Outcome,
    Ref,
    Request,
    Restore,
    Supersede,
    Tidy,
    Update,
)
from mewcode.memory.dates import time_text
from mewcode.memory.entry import Entry, Gone
from mewcode.memory.files import NoteFile
from mewcode.memory.names import file_name, identity
from mewcode.memory.note import Level, Note
from mewcode.memory.past import Past
from mewcode.memory.paths import ARCHIVE, INBOX
from mewcode.memory.rules import is_weaker_origin, merged, prepared, wins
from mewcode.memory.similar import almost_same_body, almost_same_name, says_again
from mewcode.memory.writing import Held

_LEVEL_FIELDS = ("level", "created", "updated")
_WORDING = ("name", "description", "body")
_TIDIED = {"description", "body", "tags", "aliases", "source"}


class Planner:
    """Puts into the held levels what each request asks for. Later ones see what earlier ones did."""

    def __init__(self, held: Mapping[Level, Held], now: float) -> None:
        self._held = held
        self._now = now

    def plan(self, request: Request) -> Outcome:
        """What becomes of the request. One that cannot be carried out changes nothing. Raises OSError."""
        level = request.note.level if isinstance(request, Create) else request.ref.level
        try:
            return self._plan(request, self._held[level])
        except NoteError as error:
            file = "" if isinstance(request, Create) else request.ref.file
            return Outcome("invalid", level, file, reason=error.message)

    def _plan(self, request: Request, held: Held) -> Outcome:
        if isinstance(request, Create):
            return self._create(held, prepared(request.note, self._now), request)
        if isinstance(request, Restore) and request.ref.file not in held.entries:
            return self._bring_back(held, request.ref)
        old = self._found(held, request.ref)
        if isinstance(old, Outcome):
            return old
        match request:
            case Update():
                return self._update(held, old, request)
            case Supersede():
                return self._supersede(held, old, prepared(request.note, self._now))
            case Close():
                end = request.valid_to or time_text(self._now)
                return self._set(held, old, "closed", valid_to=end)
            case Forget():
                held.remove(old.entry.file)
                return _outcome("forgotten", old.entry)
            case Restore():
                return self._reopen(held, old)
            case Move():
                return self._move(held, old, request.to)
            case Approve():
                return self._approve(held, old)
            case Archive():
                return self._put_in(held, old, ARCHIVE, "archived")
            case Tidy():
                return self._tidy(held, old, request)

    def _found(self, held: Held, ref: Ref) -> NoteFile | Outcome:
        entry = held.entries.get(ref.file)
        old = held.read(ref.file) if entry else None
        if entry is None or old is None:
            return Outcome("missing", ref.level, ref.file, reason=f"there is no note {ref.file}")
        if ref.seen and ref.seen != entry.digest:
            return Outcome("stale", ref.level, ref.file, entry.name, reason="it was changed meanwhile")
        if not old.is_text:
            raise NoteError(entry.problem)
        return msgspec.structs.replace(old, entry=entry)

    def _same(self, held: Held, note: Note, room: str = "") -> Entry | None:
        """The note of the same identity, one in force before one that expired. One that was closed by another
        is no more to be changed."""
        found = [
            entry for entry in held.same(_identity(note)) if entry.room == room and not entry.superseded_by
        ]
        found.sort(key=lambda entry: (entry.state(self._now) == "expired", entry.file))
        return found[0] if found else None

    def _create(self, held: Held, note: Note, request: Create) -> Outcome:
        if not note.name or not (note.body or note.description):
            raise NoteError("a note needs a name and a text")
        same = self._same(held, note)
        if same is None and (gone := self._gone(held, note, by_itself=request.by_itself)):
            return _withheld(note, "deleted", gone)
        if same is None and request.merge_similar:
            same = self._almost_same(held, note)
        if same is not None:
            old = self._found(held, Ref(note.level, same.file))
            if isinstance(old, NoteFile):
                return self._merge(held, old, note)
        if note.origin in ("tool", "web"):
            return self._to_inbox(held, note, "inbox")
        waiting = self._same(held, note, INBOX) if note.origin == "agent" else None
        if waiting is not None:  # to say it again is not the user's yes
            note = msgspec.structs.replace(note, origin=waiting.origin)
            return self._to_inbox(held, note, "inbox", waiting.conflicts_with)
        return self._add(held, note)

    def _gone(self, held: Held, note: Note, *, by_itself: bool) -> Gone | None:
        """When the user deleted what the note says; None where it may be there again. The message that the
        deleted note rests on does not ask for it a second time."""
        gone = held.is_gone(_identity(note)) if note.origin != "user" else None
        messages = {place for place in note.source if "/" in place}
        if gone is None and held.has_gone and (by_itself or messages):
            for deleted in held.deleted():
                is_again = by_itself or not messages.isdisjoint(deleted.note.source)
                if is_again and held.is_gone(_identity(deleted.note)) and says_again(note, deleted.note):
                    return deleted.gone
        return gone

    def _add(self, held: Held, note: Note, kind: Kind = "created", other: str = "") -> Outcome:
        file = file_name(note.type, note.name, held.is_taken)
        held.write(file, note)
        return Outcome(kind, note.level, file, note.name, other)

    def _almost_same(self, held: Held, note: Note) -> Entry | None:
        live = [entry for entry in held.entries.values() if entry.state(self._now) == "live"]
        for entry in almost_same_name(note, live):
            read = held.read(entry.file)
            if read and almost_same_body(note.body, read.note.body):
                return entry
        return None

    def _merge(self, held: Held, old: NoteFile, note: Note) -> Outcome:
        expired = old.entry.state(self._now) == "expired"
        new = merged(old.note, note, is_expired=expired, now=self._now)
        if new is old.note or all(getattr(new, name) == getattr(old.note, name) for name in _SAYING):
            return _outcome("unchanged", old.entry)
        # A description where there was none takes no word from anybody.
        wording = _WORDING if old.note.description else ("name", "body")
        says_other = any(getattr(new, name) != getattr(old.note, name) for name in wording)
        if says_other and is_weaker_origin(note.origin, old.entry):
            return self._to_inbox(held, note, "conflict", old.entry.file)
        if note.origin in ("tool", "web"):
            return self._to_inbox(held, note, "inbox")
        held.write(old.entry.file, new, old)
        return _outcome("updated", old.entry)

    def _to_inbox(self, held: Held, note: Note, kind: Kind, against: str = "") -> Outcome:
        """Lays a note before the user, in place of what waits there of the same identity."""
        note = msgspec.structs.replace(note, conflicts_with=against)
        waiting = self._same(held, note, INBOX)
        if waiting is not None:
            old = self._found(held, Ref(note.level, waiting.file))
            if isinstance(old, NoteFile):
                new = merged(old.note, note, is_expired=False, now=self._now)
                new = msgspec.structs.replace(new, conflicts_with=against)
                is_new = held.write(waiting.file, new, old)
                return Outcome(kind if is_new else "unchanged", note.level, waiting.file, note.name, against)
        for deleted in held.deleted():
            if deleted.file.startswith(f"{INBOX}/") and says_again(note, deleted.note):
                return _withheld(note, "refused", deleted.gone)
        file = f"{INBOX}/{file_name(note.type, note.name, held.is_taken)}"
        held.write(file, note)
        return Outcome(kind, note.level, file, note.name, against)

    def _update(self, held: Held, old: NoteFile, request: Update) -> Outcome:
        fields = {name: value for name, value in request.fields.items() if name not in _LEVEL_FIELDS}
        new = self._with(old.note, fields)
        if not new.name:
            raise NoteError("a note needs a name")
        if new == old.note:
            return _outcome("unchanged", old.entry)
        origin = request.by_origin
        if origin and is_weaker_origin(origin, old.entry):
            proposal = msgspec.structs.replace(new, origin=origin, supersedes=(), pinned=False)
            return self._to_inbox(held, proposal, "conflict", old.entry.file)
        if origin:
            new = msgspec.structs.replace(new, origin=origin)
        other = self._same(held, new, old.entry.room)
        if other is not None and other.file != old.entry.file:
            raise NoteError(f"there is another note of that name: {other.file}")
        new = msgspec.structs.replace(new, updated=time_text(self._now))
        file = old.entry.file
        if new.type != old.note.type:
            file = file_name(new.type, new.name, held.is_taken)
            file = f"{old.entry.room}/{file}" if old.entry.room else file
        held.write(file, new, old)
        if file != old.entry.file:
            held.remove(old.entry.file, moved=file)
        return Outcome("updated", new.level, file, new.name)

    def _with(self, note: Note, fields: Mapping[str, object]) -> Note:
        try:
            wanted = msgspec.convert({**msgspec.to_builtins(note), **fields}, Note)
        except msgspec.ValidationError as error:
            raise NoteError(f"a note cannot be so: {error}") from None
        return prepared(wanted, self._now)

    def _tidy(self, held: Held, old: NoteFile, request: Tidy) -> Outcome:
        others: list[NoteFile] = []
        for ref in request.others:
            other = self._found(held, ref)
            if isinstance(other, Outcome):
                return other
            if ref.level != held.level or ref.file == old.entry.file:
                raise NoteError("a note can take the place of others of its level only")
            others.append(other)
        if not request.fields.keys() <= _TIDIED:
            raise NoteError("to tidy up changes no more than words")
        files = tuple(other.entry.file for other in others)
        new = self._with(old.note, request.fields)
        new = msgspec.structs.replace(new, supersedes=tuple(dict.fromkeys((*new.supersedes, *files))))
        is_new = held.write(old.entry.file, new, old)
        for other in others:
            end = other.note.valid_to or time_text(self._now)
            self._set(held, other, "closed", valid_to=end, superseded_by=old.entry.file)
        kind: Kind = "merged" if others else "tidied" if is_new else "unchanged"
        return _outcome(kind, old.entry, ", ".join(files))

    def _set(self, held: Held, old: NoteFile, kind: Kind, *, other: str = "", **fields: object) -> Outcome:
        new = msgspec.structs.replace(old.note, **fields)
        is_new = held.write(old.entry.file, new, old)
        return _outcome(kind if is_new else "unchanged", old.entry, other)

    def _supersede(self, held: Held, old: NoteFile, note: Note) -> Outcome:
        if note.level != held.level:
            raise NoteError("a note can be closed by one of its own level only")
        if is_weaker_origin(note.origin, old.entry):
            return self._to_inbox(held, note, "conflict", old.entry.file)
        if note.origin in ("tool", "web"):
            return self._to_inbox(held, note, "inbox", old.entry.file)
        if note.body == old.note.body:
            return self._merge(held, old, note)
        file = file_name(note.type, note.name, held.is_taken)
        if wins(note, old.entry, self._now):
            self._close_for(held, old, file, note)
            supersedes = tuple(dict.fromkeys((*note.supersedes, old.entry.file)))
            held.write(file, msgspec.structs.replace(note, supersedes=supersedes))
            return Outcome("superseded", note.level, file, note.name, old.entry.file)
        closed = msgspec.structs.replace(note, valid_to=time_text(self._now), superseded_by=old.entry.file)
        held.write(file, closed)
        return Outcome("weaker", note.level, file, note.name, old.entry.file)

    def _close_for(self, held: Held, old: NoteFile, file: str, note: Note) -> None:
        end = note.valid_from or time_text(self._now)
        self._set(held, old, "closed", valid_to=old.note.valid_to or end, superseded_by=file)

    def _reopen(self, held: Held, old: NoteFile) -> Outcome:
        state = old.entry.state(self._now)
        if state in ("inbox", "live"):
            return _outcome("unchanged", old.entry)
        other = self._same(held, old.note)
        if other is not None and other.file != old.entry.file:
            raise NoteError(f"there is another note of that name: {other.file}")
        if state == "archived":
            return self._put_in(held, old, "", "restored")
        return self._set(held, old, "restored", valid_to="", superseded_by="")

    def _bring_back(self, held: Held, ref: Ref) -> Outcome:
        """A note that was deleted, with the text it had."""
        step = Past(held.log.changes(), held.level).last.get(ref.file)
        if step is None or step.before is None or held.is_there(ref.file):
            return Outcome("missing", ref.level, ref.file, reason=f"no deleted note was called {ref.file}")
        held.put(ref.file, step.before)
        entry = held.entries[ref.file]
        same = [
            other
            for other in held.same(entry.identity)
            if other.file != ref.file and not other.superseded_by and other.room == entry.room
        ]
        if same and not entry.superseded_by:
            held.drop(ref.file)
            raise NoteError(f"there is another note of that name: {same[0].file}")
        return _outcome("restored", entry)

    def _put_in(self, held: Held, old: NoteFile, room: str, kind: Kind) -> Outcome:
        """Moves a note within its level; its text stays as it is."""
        name = old.entry.file.rpartition("/")[2]
        file = f"{room}/{name}" if room else name
        if held.is_there(file):
            name = file_name(old.note.type, old.note.name, held.is_taken)
            file = f"{room}/{name}" if room else name
        if file == old.entry.file:
            return _outcome("unchanged", old.entry)
        held.put(file, old.text, by_hand=old.entry.by_hand)
        held.remove(old.entry.file, moved=file)
        return Outcome(kind, held.level, file, old.entry.name)

    def _move(self, held: Held, old: NoteFile, to: Level) -> Outcome:
        if to == held.level:
            return _outcome("unchanged", old.entry)
        target = self._held[to]
        note = msgspec.structs.replace(old.note, level=to)
        same = self._same(target, note, old.entry.room)
        if same is not None:
            raise NoteError(f"the {to} level has a note of that name: {same.file}")
        file = file_name(note.type, note.name, target.is_taken)
        file = f"{old.entry.room}/{file}" if old.entry.room else file
        target.write(file, note, old)
        held.remove(old.entry.file, moved=to)
        return Outcome("moved", to, file, note.name, old.entry.file)

    def _approve(self, held: Held, old: NoteFile) -> Outcome:
        if old.entry.room != INBOX:
            return _outcome("unchanged", old.entry)
        note = msgspec.structs.replace(old.note, conflicts_with="", updated=time_text(self._now))
        same = self._same(held, note)
        against = held.read(old.note.conflicts_with) if old.note.conflicts_with else None
        closed = ""
        if same is not None:
            current = self._found(held, Ref(held.level, same.file))
            if not isinstance(current, NoteFile):
                return current
            file = same.file
            new = merged(current.note, note, is_expired=True, now=self._now)
            held.write(file, msgspec.structs.replace(new, origin=note.origin), current)
        else:
            file = file_name(note.type, note.name, held.is_taken)
            name = old.entry.file.rpartition("/")[2]
            file = file if held.is_there(name) else name
            if against is not None and against.is_text:
                closed = against.entry.file
                self._close_for(held, against, file, note)
                note = msgspec.structs.replace(note, supersedes=(*note.supersedes, closed))
            held.write(file, note, old)
        held.remove(old.entry.file, moved=file)
        return Outcome("approved", held.level, file, note.name, closed)


_SAYING = (*_WORDING, "tags", "aliases", "valid_from", "valid_to", "confidence", "origin", "pinned")
"""What has to differ for a note that is told again to be an update; where it was told is not enough."""


def _identity(note: Note) -> str:
    return identity(note.level, note.type, note.name)


def _withheld(note: Note, done: str, gone: Gone) -> Outcome:
    reason = f"the user {done} it on {time_text(gone.when)[:10]}"
    return Outcome("withheld", note.level, "", note.name, reason=reason)


def _outcome(kind: Kind, entry: Entry, other: str = "") -> Outcome:
    return Outcome(kind, entry.level, entry.file, entry.name, other)
