"""`inbox`: what waits for the user's yes, and the user's word on it."""

from __future__ import annotations

from collections.abc import Sequence

from mewcode.core.errors import NoteError, UsageError
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.changing import carried_out
from mewcode.memory.answers.view import Answer, NoteView, ref, several
from mewcode.memory.changes import Approve, Forget, Request
from mewcode.memory.entry import Entry
from mewcode.memory.find import matching

WORDS = ("approve", "refuse")
_MOST_BODY = 300
"""Characters of a note's text in the list."""


def waiting(view: NoteView) -> list[Entry]:
    """The notes that wait, the oldest first: a number stays that of its note while others come."""
    found = [entry for entry in view.entries() if entry.state(view.now) == "inbox"]
    return sorted(found, key=lambda entry: (entry.created, entry.level, entry.file))


def inbox(view: NoteView, words: Sequence[str]) -> Answer:
    """The list, or with ``approve`` or ``refuse`` what became of the notes named behind it, by number, name
    or file. Raises NoteError and UsageError."""
    if not words:
        return _listed(view)
    if words[0] not in WORDS or len(words) < 2:
        raise UsageError(
            f"the inbox takes no {safe_line(' '.join(words))}",
            f"Such as: {view.asked} inbox approve 1 (or refuse 1)",
        )
    there = waiting(view)
    entries = {(entry.level, entry.file): entry for entry in (_one(view, there, word) for word in words[1:])}
    if words[0] == "approve":
        requests: list[Request] = [Approve(ref(entry)) for entry in entries.values()]
        return carried_out(view, requests)
    requests = [Forget(ref(entry)) for entry in entries.values()]
    return carried_out(view, requests, "refused")


def _listed(view: NoteView) -> Answer:
    beside = view.settle()
    values, lines = [], []
    for number, entry in enumerate(waiting(view), 1):
        read = view.store.read(entry.level, entry.file)
        body = safe_line(redact(read.note.body), _MOST_BODY) if read is not None else ""
        values.append({"number": number, **view.fields(entry), "body": body})
        lines.append(f"{number}. [{entry.type}] {safe_line(entry.name, 120)}  ({', '.join(_facts(entry))})")
        lines += [f"   {text}" for text in dict.fromkeys((entry.description, body)) if text]
    hint = f"{view.asked} inbox approve 1, or refuse 1" if values else "nothing waits for your yes"
    return Answer(values, tuple(lines), beside, hint)


def _facts(entry: Entry) -> list[str]:
    facts = [entry.level, f"from {entry.origin}"]
    return [*facts, f"contradicts {entry.conflicts_with}"] if entry.conflicts_with else facts


def _one(view: NoteView, there: list[Entry], wanted: str) -> Entry:
    if wanted.isdecimal() and 1 <= int(wanted) <= len(there):
        return there[int(wanted) - 1]
    found = matching(wanted, there, view.now, live_first=False)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoteError(f"no note {safe_line(wanted)} waits", f"See what does: {view.asked} inbox")
    raise NoteError(several(wanted, found), "Name a file, or its number.")
