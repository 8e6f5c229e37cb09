"""`forget`, `restore`, `undo`, `pin`, `move`: what they do can be taken back."""

from __future__ import annotations

from collections.abc import Sequence

from mewcode.core.errors import NoteError, UsageError
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.view import Answer, NoteView, ref, several
from mewcode.memory.changes import UNDONE, Forget, Move, Outcome, Request, Restore, Update
from mewcode.memory.entry import Entry
from mewcode.memory.find import matching
from mewcode.memory.note import LEVELS, Level

_NAMED = {"created": "saved", "unchanged": "nothing new"}


def said(outcome: Outcome) -> str:
    """What became of a request, in a word or two."""
    return _NAMED.get(outcome.kind, outcome.kind)


def forgotten(view: NoteView, names: Sequence[str]) -> Answer:
    return carried_out(view, [Forget(ref(entry)) for entry in _named(view, names)])


def pinned(view: NoteView, names: Sequence[str], *, on: bool) -> Answer:
    """Pinned notes stand whole in each prompt, and are archived last."""
    requests = [Update(ref(entry), {"pinned": on}) for entry in _named(view, names)]
    return carried_out(view, requests, "pinned" if on else "no longer pinned")


def moved(view: NoteView, name: str, to: str) -> Answer:
    """Raises UsageError where ``to`` is no level."""
    level: Level | None = next((level for level in LEVELS if level == to), None)
    if level is None:
        raise UsageError(f"{safe_line(to)} is no level", f"Such as: {view.asked} move NAME user (or project)")
    return carried_out(view, [Move(ref(view.find(name)), level)])


def _named(view: NoteView, names: Sequence[str]) -> list[Entry]:
    return list({(entry.level, entry.file): entry for entry in map(view.find, names)}.values())


def restored(view: NoteView, names: Sequence[str]) -> Answer:
    """Without a name, what can come back: deleted notes, and those that are closed or at rest."""
    deleted = [
        (level, file, change) for level, file, change in view.store.forgotten() if view.level in (None, level)
    ]
    if not names:
        closed = [entry for entry in view.entries() if entry.state(view.now) not in ("live", "inbox")]
        values = [{"level": level, "file": file, "since": change.ts} for level, file, change in deleted]
        values += [{"level": e.level, "file": e.file, "state": e.state(view.now)} for e in closed]
        lines = [f"{level}/{file}  deleted" for level, file, _ in deleted]
        lines += [f"{e.level}/{e.file}  {e.state(view.now)}" for e in closed]
        return Answer(values, tuple(lines), hint="" if values else "there is nothing to restore")
    from mewcode.memory.deleted import deleted_entry

    lying = [deleted_entry(level, file, change) for level, file, change in deleted]
    requests: list[Request] = []
    for wanted in names:
        found = matching(wanted, lying, view.now, live_first=False)
        files = {(entry.level, entry.file): entry for entry in found}
        if len(files) > 1:
            raise NoteError(several(wanted, list(files.values())), "Name a file.")
        entry = found[0] if found else view.find(wanted)
        requests.append(Restore(ref(entry)))
    return carried_out(view, requests)


def undone(view: NoteView, change_id: str = "", *, force: bool = False) -> Answer:
    """The last change, or the one whose id begins so."""
    done = view.store.undo(change_id, force=force)
    what = tuple(dict.fromkeys(word for change in done for word in change.what))
    return Answer({"id": done[0].id, "undoes": done[0].undoes, "what": what}, what)


def carried_out(view: NoteView, requests: Sequence[Request], words: str = "") -> Answer:
    """``words``: what is said of each that was done, in place of what the store calls it."""
    outcomes = view.store.apply(requests, by="user").outcomes
    values = [
        {"action": outcome.kind, "level": outcome.level, "file": outcome.file, "name": outcome.name}
        for outcome in outcomes
    ]
    lines = tuple(
        f"{words if words and outcome.kind not in UNDONE else said(outcome)}: "
        f"{safe_line(outcome.name) or outcome.file}" + (f" ({outcome.reason})" if outcome.reason else "")
        for outcome in outcomes
    )
    failed = any(outcome.kind in ("missing", "invalid", "stale") for outcome in outcomes)
    return Answer(values, lines, is_done=not failed)
