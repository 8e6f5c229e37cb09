"""`list`, `show`, `history`: they change no note."""

from __future__ import annotations

import time

from mewcode.core.errors import NoteError
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.view import Answer, NoteView
from mewcode.memory.history import by_id
from mewcode.memory.undo import undone_ids

_MOST_SECONDS = 1.0
"""For what a note names that is not there: on a machine at work even a small tree takes more than
`liveness.TIME_LIMIT`, and here somebody wants to know."""


def listed(view: NoteView, *, everything: bool = False) -> Answer:
    """The notes in force; with ``everything`` also the others."""
    beside = view.settle()
    entries = view.entries()
    chosen = entries if everything else [entry for entry in entries if entry.state(view.now) == "live"]
    hint = ""
    if not chosen:
        hint = "there are no notes yet"
    elif len(chosen) < len(entries):
        hint = f"{len(entries) - len(chosen)} more are not in force: {view.asked} list --all"
    return Answer(
        [view.fields(entry) for entry in chosen],
        tuple(view.line(entry) for entry in chosen),
        (*beside, *view.withheld(), *(entry.problem for entry in chosen if entry.problem)),
        hint,
    )


def shown(view: NoteView, name: str) -> Answer:
    """One note, whole; of what it names, what is not in the work tree."""
    from mewcode.memory.liveness import Liveness, check_note, dead_words

    entry = view.find(name)
    read = view.store.read(entry.level, entry.file)
    if read is None:
        raise NoteError(f"the note {entry.file} is gone")
    fields = view.fields(entry)
    lines = [view.line(entry), str(fields["path"])]
    lines += [f"problem: {entry.problem}"] if entry.problem else []
    lines += [f"used {fields['uses']} times"] if fields["uses"] else []
    found = Liveness() if view.tree is None else check_note(read.note, view.tree, limit=_MOST_SECONDS)
    lines += [dead] if (dead := dead_words(found)) else []
    fields |= {"body": read.note.body, "text": read.text, "dead": found.dead}
    return Answer(fields, (*lines, "", *read.text.rstrip().split("\n")))


def changes(view: NoteView, most: int) -> Answer:
    """The newest changes first; what was done in both levels at once is one."""
    found = by_id(view.store.history())
    undone = undone_ids([parts[0][1] for parts in found.values()])
    values, lines = [], []
    for parts in list(reversed(found.values()))[:most]:
        first = parts[0][1]
        what = list(dict.fromkeys(word for _, change in parts for word in change.what))
        is_undone = first.id in undone
        values.append({
            "id": first.id, "ts": first.ts, "by": first.by, "what": what, "source": first.source,
            "reason": first.reason, "undoes": first.undoes, "undone": is_undone,
            "files": [f"{level}/{step.file}" for level, change in parts for step in change.steps],
        })  # fmt: skip
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(first.ts))
        said = safe_line("; ".join(what), 160)
        lines.append(f"{first.id}  {when}  {first.by:<6} {said}{'  (undone)' if is_undone else ''}")
    return Answer(values, tuple(lines), hint="" if values else "no note was changed yet")
