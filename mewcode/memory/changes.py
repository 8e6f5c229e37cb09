"""What can be asked of the store, and what became of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mewcode.memory.note import Level, Note


class Ref(msgspec.Struct, frozen=True):
    """A note that is there: the level and the file within its folder. ``seen``: the digest of the file when
    it was last looked at; where it is another by now, the file's new content wins and nothing is changed. ""
    changes it whatever it holds."""

    level: Level
    file: str
    seen: str = ""


class Create(msgspec.Struct, frozen=True):
    """Adds a note. Where there is one of the same identity it becomes an update of that; with
    ``merge_similar`` also where name and body are nearly those of another. A note from a tool or the web goes
    to the inbox. ``by_itself``: nobody asked for it, so that what the user deleted stays away whosever word
    it is."""

    note: Note
    merge_similar: bool = False
    by_itself: bool = False


class Update(msgspec.Struct, frozen=True):
    """Sets fields of a note (see `Note`; not its level). ``origin``: whose word this is; "" takes the place
    of the note's own."""

    ref: Ref
    fields: dict[str, Any]
    by_origin: Literal["user", "agent", "tool", "web", ""] = ""


class Supersede(msgspec.Struct, frozen=True):
    """Adds a note that contradicts another. The weaker of both is closed: by origin, then by confidence, then
    by time. Where the new one has the weaker origin it waits in the inbox as a conflict for the user."""

    ref: Ref
    note: Note


class Close(msgspec.Struct, frozen=True):
    """Says until when a note was true; "" until now."""

    ref: Ref
    valid_to: str = ""


class Forget(msgspec.Struct, frozen=True):
    """Deletes a note. Its text stays in the history, and it does not come back by itself."""

    ref: Ref


class Restore(msgspec.Struct, frozen=True):
    """Brings a deleted note back, by its file; or reopens one that was closed."""

    ref: Ref


class Move(msgspec.Struct, frozen=True):
    """Moves a note to the other level."""

    ref: Ref
    to: Level


class Approve(msgspec.Struct, frozen=True):
    """The user's yes to a note of the inbox: it comes into force, and closes what it contradicts."""

    ref: Ref


class Archive(msgspec.Struct, frozen=True):
    """Puts a note at rest: it is kept, and in no index. `Restore` takes it back."""

    ref: Ref


class Tidy(msgspec.Struct, frozen=True):
    """Words a note anew that says nothing new: it keeps its origin and gets no newer. It takes the place of
    ``others`` of its level, which are closed. Where one of them all is another by now, or gone, nothing of it
    is done. ``fields``: description, body, tags, aliases, source."""

    ref: Ref
    fields: dict[str, Any]
    others: tuple[Ref, ...] = ()


Request = Create | Update | Supersede | Close | Forget | Restore | Move | Approve | Archive | Tidy

Kind = Literal[
    "created", "updated", "unchanged", "superseded", "closed", "forgotten", "restored", "moved", "approved",
    "archived", "tidied", "merged",
    "inbox",  # waits for the user's yes
    "conflict",  # contradicts what has the stronger origin: in the inbox
    "weaker",  # was added, and closed at once by what it contradicts
    "withheld",  # the user deleted or refused it
    "stale",  # the note is another by now
    "missing",  # there is no such note
    "invalid",  # cannot be done; ``reason`` says why
]  # fmt: skip

UNDONE: tuple[Kind, ...] = ("unchanged", "withheld", "stale", "missing", "invalid")
"""Nothing came of the request."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of one request. ``file``: the note it is about, "" where there is none. ``other``: the
    note that was closed, or that stands against it."""

    kind: Kind
    level: Level
    file: str = ""
    name: str = ""
    other: str = ""
    reason: str = ""


class Applied(msgspec.Struct, frozen=True):
    """``id``: of the change in the history; "" where nothing changed. One outcome for each request, in
    order."""

    id: str
    outcomes: tuple[Outcome, ...]
