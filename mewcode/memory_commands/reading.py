"""`list`, `show`, `history`, `path`: they read, and change no note."""

from __future__ import annotations

import time

from mewcode.core.errors import NoteError
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.history import Change
from mewcode.memory.note import Level
from mewcode.memory.undo import undone_ids
from mewcode.memory_commands.context import Context, note_line, tell


def list_all(context: Context) -> int:
    context.settle()
    entries = context.entries()
    chosen = entries if context.flags.all else [e for e in entries if e.state(context.now) == "live"]
    context.answer(
        [context.fields(entry) for entry in chosen], [note_line(entry, context.now) for entry in chosen]
    )
    tell_withheld(context)
    for entry in chosen:
        if entry.problem:
            tell(entry.problem)
    if not context.options.as_json:
        if not chosen:
            tell("there are no notes yet")
        elif len(chosen) < len(entries):
            tell(f"{len(entries) - len(chosen)} more are not in force: mewcode memory list --all")
    return 0


def tell_withheld(context: Context) -> None:
    """Says how many notes are left out because they came with the folder."""
    count = sum(len(look.withheld) for look in context.store.look().values())
    if count:
        what = "1 note" if count == 1 else f"{count} notes"
        tell(f"{what} came with this folder, which you do not trust; to use them: mewcode --trust")


def show(context: Context) -> int:
    entry = context.find(" ".join(context.words))
    read = context.store.read(entry.level, entry.file)
    if read is None:
        raise NoteError(f"the note {entry.file} is gone")
    fields = context.fields(entry)
    lines = [note_line(entry, context.now), str(fields["path"])]
    lines += [f"problem: {entry.problem}"] if entry.problem else []
    lines += [f"used {fields['uses']} times"] if fields["uses"] else []
    context.answer(fields | {"body": read.note.body, "text": read.text}, [*lines, "", read.text.rstrip()])
    return 0


def history(context: Context) -> int:
    """The newest first; what was done in both levels at once is one."""
    changes: dict[str, list[tuple[Level, Change]]] = {}
    for level, change in context.store.history():
        changes.setdefault(change.id, []).append((level, change))
    undone = undone_ids([parts[0][1] for parts in changes.values()])
    newest = list(reversed(changes.values()))[: context.flags.limit]
    values, lines = [], []
    for parts in newest:
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
    context.answer(values, lines)
    if not values and not context.options.as_json:
        tell("no note was changed yet")
    return 0


def path(context: Context) -> int:
    if context.words:
        entry = context.find(" ".join(context.words))
        found = str(context.store.path(entry))
        context.answer({"path": found}, [found])
        return 0
    folders = {
        level: str(store.folder)
        for level, store in context.store.levels.items()
        if context.level in (None, level)
    }
    lines = (
        [*folders.values()] if context.level else [f"{level:<8} {where}" for level, where in folders.items()]
    )
    context.answer(folders, lines)
    return 0


COMMANDS = {"list": list_all, "show": show, "history": history, "path": path}
