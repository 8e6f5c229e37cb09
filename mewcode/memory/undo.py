"""Taking a change back: each file gets the text it had before, in a change of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mewcode.core.errors import NoteError
from mewcode.core.ids import new_id
from mewcode.infra.redact import redact
from mewcode.memory.history import By, Change, Step
from mewcode.memory.note import Level
from mewcode.memory.past import Past
from mewcode.memory.writing import Held


def find_change(history: Sequence[tuple[Level, Change]], change_id: str) -> str:
    """The id of the change that is meant: that which begins with ``change_id``; else the last that somebody
    asked for, is no undo itself, and was not taken back. Raises NoteError."""
    if change_id:
        found = {change.id for _, change in history if change.id.startswith(change_id)}
        if len(found) == 1:
            return found.pop()
        what = "several changes begin" if found else "no change begins"
        raise NoteError(f"{what} with {change_id}", "See `mewcode memory history`.")
    undone = undone_ids([change for _, change in history])
    for _, change in reversed(history):
        if change.by in ("hand", "import") or change.undoes or change.id in undone:
            continue
        return change.id
    raise NoteError("there is nothing to undo")


def undone_ids(changes: Sequence[Change]) -> set[str]:
    """The changes that are taken back as things stand: an undo that was undone itself does not count."""
    undone: set[str] = set()
    for change in reversed(changes):
        if change.undoes and change.id not in undone:
            undone.add(change.undoes)
    return undone


def take_back(held: Mapping[Level, Held], change_id: str, *, by: By, force: bool) -> list[Change]:
    """Takes the change back in all levels, as one. Raises NoteError, with nothing changed."""
    parts: list[tuple[Held, Change]] = []
    for level in held.values():
        changes = level.log.changes()
        for place, change in enumerate(changes):
            if change.id == change_id:
                before = Past(changes[:place], level.level)
                conflicts = [] if force else [step.file for step in change.steps if _differs(level, step)]
                if conflicts:
                    files = ", ".join(conflicts)
                    raise NoteError(f"changed since: {files}", "--force takes it back all the same.")
                for step in change.steps:
                    _restore(level, step, is_by_hand=step.file in before.by_hand)
                parts.append((level, change))
    if not parts:
        raise NoteError("that change is in no history any more")
    undo_id = new_id()
    # A note that had moved is written where it was before it goes where it is.
    parts.sort(key=lambda part: all(step.before is None for step in part[1].steps))
    done = []
    for level, change in parts:
        what = tuple(f"undone: {word}" for word in change.what)
        made = level.commit(undo_id, by, what, undoes=change.id)
        if made is not None:
            done.append(made)
    if not done:
        raise NoteError("that change is taken back already")
    return done


def _differs(held: Held, step: Step) -> bool:
    """Whether the file is neither as the change left it, nor as it was before."""
    read = held.read(step.file)
    text = None if read is None else redact(read.text)
    return text not in (step.after, step.before) or (text is None and held.is_there(step.file))


def _restore(held: Held, step: Step, *, is_by_hand: bool) -> None:
    if step.before is None:
        held.remove(step.file)
    else:
        held.put(step.file, step.before, by_hand=is_by_hand)
