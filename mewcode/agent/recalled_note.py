"""A note as the model is reminded of it, and what of it a conversation holds already. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mewcode.core.ids import new_id
from mewcode.core.message import Message, Text
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.dates import DAY, days_text, time_of
from mewcode.memory.entry import Entry, cut_bytes
from mewcode.memory.extract.cutting import cut_lines
from mewcode.memory.index import core_text
from mewcode.memory.rules import origin_of
from mewcode.prompt.notes import fenced, harmless

if TYPE_CHECKING:
    from mewcode.memory.liveness import Liveness

MOST_BYTES = 4_096
"""Of one note as it is told, all that is said about it included."""
_MOST_NAME, _MOST_DEAD, _MOST_PATH = 400, 600, 300
"""Bytes of what is said about a note: its text always has the larger part of the room."""
_FRAME = "<system-reminder>\n{}\n</system-reminder>"
_CUT = "(The note goes on: read_note gives all of it.)"
_WHOSE = {
    "user": "in the user's own words",
    "agent": "taken by you from what was said",
    "tool": "taken from a tool's output",
    "web": "taken from a web page",
}

Key = tuple[str, str]
"""The level and the file of a note."""


class Recalled(msgspec.Struct, frozen=True):
    """A note to be told. ``text``: what is told; ``score``: how well it answers, None where a model chose
    it."""

    entry: Entry
    text: str
    score: float | None = None

    @property
    def key(self) -> Key:
        return self.entry.level, self.entry.file


def recall_text(entry: Entry, body: str, path: str, found: Liveness | None, now: float) -> str:
    """What the model is told of a note, at most `MOST_BYTES`. ``path``: where its file is; ``found``: what of
    what it names is not there, None where that could not be looked at in time."""
    where = cut_bytes(safe_line(path), _MOST_PATH)
    lead = [f"A note of earlier sessions that may bear on this ({entry.level}, {_whose(entry)}): {where}"]
    lead += _age(entry, now)
    if found is None:
        lead.append("Whether what it names is still there was not looked at.")
    elif found.dead:
        from mewcode.memory.liveness import dead_words

        lead.append(cut_bytes(f"Of what it names, {dead_words(found)}", _MOST_DEAD) + ".")
    lead = list(map(harmless, lead))  # paths are named by whoever made the work tree
    line = f" — {entry.line}" if entry.line else ""
    head = harmless(f"- {entry.file} [{entry.type}] {cut_bytes(entry.name, _MOST_NAME)}{line}")
    frame = "\n".join([*lead, fenced(f"{head}\n\n"), _CUT])
    room = MOST_BYTES - len(_FRAME.encode()) - len(frame.encode())
    body = harmless(redact(body))
    text = "\n".join([*lead, fenced(f"{head}\n\n{cut_lines(body, room)}")])
    return text if len(body.encode()) <= room else f"{text}\n{_CUT}"


def _whose(entry: Entry) -> str:
    return _WHOSE[origin_of(entry)]


def _age(entry: Entry, now: float) -> Iterator[str]:
    """Beyond a day, how old a note is."""
    changed = time_of(entry.updated or entry.created)
    if changed is not None and now - changed >= DAY:
        yield (
            f"This note is {days_text(now - changed)} old: it is an observation of its time. Check it "
            "against what is there now before you rely on it."
        )


def recall_message(notes: Sequence[Recalled]) -> Message:
    """The message that tells the model of these notes, a block each."""
    blocks = tuple(Text(_FRAME.replace("{}", note.text)) for note in notes)
    about = {"notes": [_about(note) for note in notes]}
    return Message(new_id(), "user", blocks, "recall", provider_meta=about)


def _about(note: Recalled) -> dict[str, Any]:
    entry = note.entry
    known = {"level": entry.level, "file": entry.file, "name": entry.name, "digest": entry.digest}
    return known if note.score is None else known | {"score": round(note.score, 4)}


def stands_in(section: str, entry: Entry) -> bool:
    """Whether the part of the prompt that holds notes says all of this one."""
    return bool(entry.core) and core_text(entry) in section


def told_in(messages: Iterable[Message]) -> dict[Key, str]:
    """The notes that these messages tell of by way of recall, each with the digest of its file then."""
    found: dict[Key, str] = {}
    for message in messages:
        if message.origin != "recall":
            continue
        notes = message.provider_meta.get("notes")
        for note in notes if isinstance(notes, list) else ():
            if isinstance(note, dict):
                found[str(note.get("level")), str(note.get("file"))] = str(note.get("digest"))
    return found


def size_of(message: Message) -> int:
    """Bytes of what a message tells of notes."""
    texts = (block.text for block in message.content if isinstance(block, Text))
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def names_of(message: Message) -> list[str]:
    """The names of the notes that a message tells of, each safe to show on a line."""
    notes = message.provider_meta.get("notes")
    found = [note.get("name") for note in notes if isinstance(note, dict)] if isinstance(notes, list) else []
    return [safe_line(name, 120) for name in found if isinstance(name, str)]
