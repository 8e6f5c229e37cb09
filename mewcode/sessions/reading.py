"""One pass over a session's records, or over the last of them: what they say, and how they hang together."""

from __future__ import annotations

from typing import Any

import msgspec

from mewcode.core.message import Message, Usage
from mewcode.sessions.branch import START, UNREAD, Node
from mewcode.sessions.earlier import Earlier, Titles, count_of, record_about
from mewcode.sessions.plain import number
from mewcode.sessions.pruned import read_replaced
from mewcode.sessions.record import (
    LABEL_TYPES,
    Totals,
    WireMessage,
    decode_line,
    from_wire,
    totals_of,
)
from mewcode.sessions.record_files import BOM, Part, RecordFiles
from mewcode.sessions.salvage import UNPARSABLE, salvage_pieces
from mewcode.sessions.skim import Skimmed, is_taken_along, skim, without_result

_DAMAGE_NAMED = 20
"""So many pieces of damage are described; the others are only counted."""


class Reading:
    """The state of the pass. ``earlier``: what is known of the part before ``start``, where in the row of
    files it begins. ``skims``: messages are not decoded before `message` asks for them: half the time and
    little memory where few of them are wanted. ``largest``: bytes of a record; of a tool's result that has
    more, `message` says only that it was there.
    """

    def __init__(
        self,
        files: RecordFiles,
        start: int,
        *,
        skims: bool,
        earlier: Earlier | None = None,
        largest: int | None = None,
    ) -> None:
        earlier = earlier or Earlier()
        self.start = start
        self.nodes: list[Node] = []
        self.head = UNREAD if start else START
        self.names_parents = False
        self.skipped = 0
        self.salvaged = 0
        self.about = earlier.about
        self.known: set[str] = set()  # what the records of this pass themselves say
        self.titles = Titles()  # of this pass
        self.reads: dict[str, dict[str, Any]] = {}
        self.replaced: dict[str, str] = {}
        self.turns = earlier.turns
        self.last_ts = 0.0
        self._files = files
        self._counts = not start or "turns" not in earlier.unknown
        self._skims = skims
        self._largest = largest
        self._by_id: dict[str, int] = {}
        self._lines = 0
        self._part: Part | None = None
        self._damages = 0
        self._damage: list[str] = []
        self._model = self.about.get("model", "")  # what an assistant's record without a model inherits
        self._compacted: str | None = None  # what the marker at the head follows
        self._marker = START
        self._due = 0  # so many messages of the last marker are still to come
        self._missing = 0  # messages that the last marker announced and that did not come yet
        self._before_marker = START
        self._totals = earlier.totals
        self._used: dict[str, Usage] = {}  # since the last totals
        self._noted: set[int] = set()  # the nodes that were looked through for notes
        self._copies: dict[str, int] = {}  # the places of copies, by the ids of what they are copies of

    def run(self) -> None:
        """Reads to the end. Raises OSError."""
        for what in self._files.odd:
            self.skipped += 1
            self._note(what)
        for part in self._files.parts:
            if part.end <= self.start and part is not self._files.own:
                continue
            self._part, self._lines = part, 0
            if part is self._files.own and self._files.is_fork and self.start <= part.start:
                self._leave()
            for offset, line in part.lines(max(self.start, part.start)):
                self._take(offset, line)
        self._break_off()
        if not self.names_parents:  # a plain file, or one in which each message calls itself the first
            for place, node in enumerate(self.nodes):
                node.parent = place - 1 if place else UNREAD if self.start else START
            self.head = len(self.nodes) - 1 if self.nodes else self.head
        self._settle()

    def message(self, place: int) -> Message | None:
        """The message of a node; None where its record turns out to be damaged. Raises OSError."""
        node = self.nodes[place]
        if node.message is not None:
            return node.message
        line = self._files.read(node.offset, node.size)
        if self._largest is not None and node.size > self._largest and (stub := without_result(line)):
            self._note_at(f"byte {node.offset}", f"a result of {node.size / 1e6:.0f} MB: left out")
            return msgspec.structs.replace(stub, id=node.id)
        wire = decode_line(line)
        if not isinstance(wire, WireMessage):
            self.skipped += 1
            self._note_at(f"byte {node.offset}", f"{wire if isinstance(wire, str) else 'changed'}: skipped")
            return None
        wire.id = node.id
        return from_wire(wire, node.model)

    @property
    def may_be_torn(self) -> bool:
        """Whether the head is part of a compaction of which the marker was not read: it may be broken off."""
        return self._marker < 0 <= self.head and self.start > 0 and self.nodes[self.head].is_taken

    def is_noted(self, message_id: str) -> bool:
        """Whether a message, or what it is a copy of, was looked through for notes."""
        place = self._by_id.get(message_id, START)
        return place in self._noted or (place >= 0 and self.nodes[place].of in self._noted)

    @property
    def damage(self) -> list[str]:
        more = self._damages - len(self._damage)
        return self._damage + ([f"and {more} more"] if more > 0 else [])

    @property
    def totals(self) -> Totals:
        """The last totals, plus the tokens of what came after."""
        if not self._used:
            return self._totals
        models = dict(self._totals.models)
        for name, usage in self._used.items():
            models[name] = models.get(name, Usage()) + usage
        return Totals(models, self._totals.cost_usd)

    def _leave(self) -> None:
        """The place at which a fork leaves what it continues."""
        self._settle()
        self._break_off()
        self.names_parents = True
        message = self._files.session.get("message")
        if message is None:
            self.head = START
        else:
            self.head = self._place_of(message, "the message that it continues is not there")
        self._note_to(self.head)

    def _settle(self) -> None:
        """Where a writer ended in the middle of a compaction, the conversation is that of before."""
        if self._due:
            self.head, self._due = self.nodes[self._marker].parent, 0

    def _take(self, offset: int, line: bytes) -> None:
        self._lines += 1
        record = skim(line) if self._skims else decode_line(line)
        if not isinstance(record, str):
            self._record(record, offset, len(line))
        elif line.strip():
            self._broken(offset, line, record)

    def _record(self, record: WireMessage | Skimmed | dict[str, Any], offset: int, size: int) -> None:
        if isinstance(record, dict):
            self._control(record, offset, size)
        else:
            self._message(record, offset, size)

    def _broken(self, offset: int, line: bytes, reason: str) -> None:
        if self._lines == 1 and line.startswith(BOM):
            self._lines = 0
            self._take(offset + len(BOM), line[len(BOM) :])
            return
        pieces, lost = ([], True) if reason not in UNPARSABLE else salvage_pieces(line)
        self.salvaged += len(pieces)
        if lost:
            self.skipped += 1
        self._note(f"{reason}; {len(pieces)} records saved from its end" if pieces else f"{reason}: skipped")
        at = offset + len(line.rstrip(b"\r\n")) - sum(len(piece) for piece, _ in pieces)
        for piece, record in pieces:
            self._record(record, at, len(piece))
            at += len(piece)

    def _note(self, what: str) -> None:
        part = self._part
        if part is None:
            self._note_at("", what)
            return
        is_counted = self.start <= part.start
        where = f"line {self._lines}" if is_counted else f"line {self._lines} of those that were read"
        self._note_at(where if part is self._files.own else f"{part.name}, {where}", what)

    def _note_at(self, where: str, what: str) -> None:
        self._damages += 1
        if len(self._damage) < _DAMAGE_NAMED:
            self._damage.append(f"{where}: {what}" if where else what)

    def _message(self, wire: WireMessage | Skimmed, offset: int, size: int) -> None:
        place = len(self.nodes)
        if type(wire.model) is str:
            self._model = wire.model
            if wire.model:
                self._say("model", wire.model)
        if self._missing and self._by_id.get(str(wire.parent)) == self.head:
            self._missing -= 1
        else:
            self._break_off()
        if wire.parent is msgspec.UNSET:  # the messages of a compaction name theirs
            self._settle()
        parent = self._parent_of(wire.parent)
        node = Node(wire.id or self._own_id("message", offset), parent, offset, size, model=self._model)
        if isinstance(wire, WireMessage):
            wire.id = node.id
            node.message = from_wire(wire, self._model)
        known = self._by_id.get(node.id)
        self.nodes.append(node)
        if known is not None:
            if self._is_same(known, place):
                self.nodes.pop()
                self.skipped += 1
                self._note("a repeated record: skipped")
                return
            self._note("an id that was already used: changed")
            self._by_id[node.id] = place  # later records mean this one
            node.id = self._own_id("message", offset)
            if node.message is not None:
                node.message = msgspec.structs.replace(node.message, id=node.id)
        if self._due:
            self._due = self._due - 1 if parent == self.head else 0
            node.ends_taken = not self._due and parent == self.head
        if wire.of:
            node.of = self._by_id.get(wire.of, START)
            self._copies[wire.of] = place
        node.is_taken = is_taken_along(wire)
        if not wire.of and wire.role == "user" and wire.origin in (msgspec.UNSET, "user"):
            self.turns += 1
            node.turn = self.turns if self._counts else 0
        self._by_id[node.id] = self.head = place
        self.last_ts = wire.ts or self.last_ts
        if wire.usage is not None and not wire.of:
            name = wire.model if isinstance(wire.model, str) else self._model
            self._used[name] = self._used.get(name, Usage()) + wire.usage

    def _break_off(self) -> None:
        """Leaves out a compaction whose writer did not come to its end: the conversation is as before it."""
        if self._missing:
            self._missing, self.head = 0, self._before_marker

    def _is_same(self, known: int, place: int) -> bool:
        if self.nodes[known].is_marker:
            return False
        one, other = self.message(known), self.message(place)
        return (
            one is not None and other is not None and (one.role, one.content) == (other.role, other.content)
        )

    def _own_id(self, kind: str, offset: int) -> str:
        """An id for a record that has none: the same each time, since files only grow."""
        own = f"{kind}-{offset}"
        while own in self._by_id:
            own += "x"
        return own

    def _parent_of(self, parent: str | msgspec.UnsetType | None) -> int:
        if parent is None:
            return START
        self.names_parents = self.names_parents or parent is not msgspec.UNSET
        if parent is msgspec.UNSET:
            return self.head
        if parent == self._compacted and self.head >= 0 and self.nodes[self.head].is_marker:
            return self.head  # the conversation begins anew behind a marker, also where its writer forgot
        return self._place_of(parent, "a parent that is not there: taken to follow the message before")

    def _place_of(self, wanted: Any, otherwise: str) -> int:
        """The place of the node of that id. Where it is not there, it may be in the part that was not read;
        where all is read, that is noted, and it is the head."""
        place = self._by_id.get(wanted) if isinstance(wanted, str) else None
        if place is not None:
            return place
        if self.start:
            return UNREAD
        self._note(otherwise)
        return self.head

    def _say(self, name: str, value: str) -> None:
        self.about[name] = value
        self.known.add(name)

    def _control(self, record: dict[str, Any], offset: int, size: int) -> None:
        kind = record["type"]
        if kind in LABEL_TYPES:  # they say nothing about the conversation, nor when it was held
            if kind == "title" and self._part is self._files.own:
                self.titles.take(record)
            elif kind == "noted" and isinstance(upto := record.get("upto"), str):
                self._note_to(self._by_id.get(upto, self._copies.get(upto, START)))
            return
        self.last_ts = number(record.get("ts")) or self.last_ts
        if kind == "usage":
            self._set_totals(record)
            self._set_turns(record)
        elif kind == "rewind":
            self._rewind(record)
        elif kind == "reads":
            self._read(record.get("files"))
        elif kind == "prune":
            self.replaced.update(read_replaced(record.get("replaced")))
        elif kind == "compact":
            self._compact(record, offset, size)
        else:
            self._session(record)

    def _note_to(self, place: int) -> None:
        """All that leads to a node was looked through for notes."""
        while place >= 0 and place not in self._noted:
            self._noted.add(place)
            place = self.nodes[place].parent

    def _session(self, record: dict[str, Any]) -> None:
        """A ``session`` or ``state`` record."""
        for name, value in record_about(record).items():
            self._say(name, value)
        if record["type"] == "session":
            self._model = self.about.get("model", "")

    def _set_totals(self, record: dict[str, Any]) -> None:
        self._totals = totals_of(record)
        self._used.clear()
        self.known.add("totals")

    def _set_turns(self, record: dict[str, Any]) -> int:
        """Takes the number of turns until now where it is not known better, by counting; returns it."""
        turns = count_of(record.get("turns"))
        if self.start and turns:
            self.turns, self._counts = turns, True
            self.known.add("turns")
        return turns

    def _read(self, files: Any) -> None:
        if isinstance(files, dict):
            self.reads.update({path: state for path, state in files.items() if isinstance(state, dict)})

    def _rewind(self, record: dict[str, Any]) -> None:
        self._break_off()
        to = record.get("to")
        if to is not None and not (isinstance(to, str) and (self.start or to in self._by_id)):
            self.skipped += 1
            self._note("a way back to a message that is not there: skipped")
            return
        self.head = START if to is None else self._place_of(to, "")
        self.names_parents, self._due = True, 0

    def _compact(self, record: dict[str, Any], offset: int, size: int) -> None:
        self._break_off()
        place, own = len(self.nodes), record.get("id")
        parent = record.get("parent", msgspec.UNSET)
        before = self._parent_of(parent if isinstance(parent, str) or parent is None else msgspec.UNSET)
        name = own if isinstance(own, str) and own else self._own_id("compact", offset)
        node = Node(name, before, offset, size, is_marker=True)
        self.nodes.append(node)
        if name in self._by_id:
            self._note("an id that was already used: changed")
            self._by_id[name] = place  # later records mean this one
            node.id = self._own_id("compact", offset)
        self._by_id[node.id] = self.head = place
        self.names_parents, self._marker, self._due = True, place, count_of(record.get("messages"))
        self._compacted = parent if isinstance(parent, str) and not self._due else None
        for key, value in record_about(record).items():
            self._say(key, value)
        self._model = self.about.get("model", "")
        if isinstance(record.get("usage"), dict):
            self._set_totals(record["usage"])
        node.turn = self._set_turns(record)
