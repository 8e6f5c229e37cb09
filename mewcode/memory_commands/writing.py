"""`add`, `edit`, `forget`, `restore`, `undo`, `rebuild`: what they do can be taken back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from mewcode.core.errors import NoteError, UsageError
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.changes import Create, Forget, Outcome, Ref, Request, Restore, Update
from mewcode.memory.entry import Entry
from mewcode.memory.find import matching
from mewcode.memory.note import Note, level_of
from mewcode.memory_commands.context import Context, check_done, ref, tell

_MOST_INPUT = 1_000_000
"""Characters of a body from standard input."""
_NAMED = {
    "created": "saved", "updated": "updated", "unchanged": "nothing new", "forgotten": "forgotten",
    "restored": "restored",
}  # fmt: skip


def add(context: Context) -> int:
    """The same identity is an update. What is merely similar is named, and both stay."""
    flags, kind = context.flags, context.type
    name = (flags.name or "").strip()
    if kind is None or not name:
        raise UsageError(
            "`mewcode memory add` needs --type and --name",
            'Such as: mewcode memory add --type user --name "Test runner" "Prefers pytest."',
        )
    note = Note(
        name=name,
        type=kind,
        level=context.level or level_of(kind),
        description=flags.description or "",
        body=_body(context.words),
        tags=_words(flags.tags),
        aliases=_words(flags.aliases),
    )
    if not note.body.strip():
        raise UsageError("a note needs a text", "Give it as the last words, or - for standard input.")
    similar = context.store.similar(note)
    outcome = context.store.apply([Create(note)], by="user").outcomes[0]
    _answer(context, outcome, similar)
    return 0


def edit(context: Context) -> int:
    """Sets what is given; opens the editor where nothing is."""
    flags = context.flags
    level = None if flags.level is None else context.level
    entry = _found(context, context.words[0])
    fields: dict[str, Any] = {}
    if len(context.words) > 1:
        fields["body"] = _body(context.words[1:])
        if not fields["body"].strip():
            raise UsageError("a note needs a text")
    if flags.name:
        fields["name"] = flags.name
    if flags.description is not None:
        fields["description"] = flags.description
    said = (("aliases", flags.aliases), ("tags", flags.tags))
    fields |= {name: _words(words) for name, words in said if words is not None}
    if context.type is not None:
        fields["type"] = context.type
    if not fields and level in (None, entry.level):
        return _edit_by_hand(context, entry)
    outcome = Outcome("unchanged", entry.level, entry.file, entry.name)
    if fields:
        outcome = context.store.apply([Update(ref(entry), fields)], by="user").outcomes[0]
        check_done(outcome)
    if level is not None and level != outcome.level:
        from mewcode.memory.changes import Move

        outcome = context.store.apply([Move(Ref(outcome.level, outcome.file), level)], by="user").outcomes[0]
    _answer(context, outcome)
    return 0


def _found(context: Context, wanted: str) -> Entry:
    """The note to be edited: here the flags say what it will be, not which it is."""
    found = matching(wanted, context.store.entries(), context.now)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoteError(f"there is no note {safe_line(wanted)}", "See them all: mewcode memory list --all")
    files = ", ".join(str(context.store.path(entry)) for entry in found[:5])
    raise NoteError(f"{len(found)} notes could be {safe_line(wanted)}: {files}", "Name its file.")


def _edit_by_hand(context: Context, entry: Entry) -> int:
    from mewcode.repl.editor import editor_command

    if not sys.stdin.isatty():
        raise UsageError("nothing to change was given", 'Such as: mewcode memory edit NAME "the new text"')
    context.settle()
    path = context.store.path(entry)
    code = subprocess.call([*editor_command(context.environ), str(path)], env=dict(context.environ))
    changed = context.store.settle()
    after = {found.file: found for found in context.store.entries(entry.level)}.get(entry.file)
    if after is not None and after.problem:
        tell(after.problem)
    kind = "updated" if changed else "nothing new"
    context.answer({"action": "updated" if changed else "unchanged", "path": path}, [f"{kind}: {path}"])
    return 0 if code == 0 else 1


def forget(context: Context) -> int:
    entries = list({entry.file: entry for entry in map(context.find, context.words)}.values())
    return _apply_all(context, [Forget(ref(entry)) for entry in entries])


def restore(context: Context) -> int:
    """Without a name it lists what can come back: deleted notes, and those that are closed or at rest."""
    deleted = [
        (level, file, change)
        for level, file, change in context.store.forgotten()
        if context.level in (None, level)
    ]
    if not context.words:
        closed = [e for e in context.entries() if e.state(context.now) not in ("live", "inbox")]
        values = [{"level": level, "file": file, "since": change.ts} for level, file, change in deleted]
        values += [{"level": e.level, "file": e.file, "state": e.state(context.now)} for e in closed]
        lines = [f"{level}/{file}  deleted" for level, file, _ in deleted]
        lines += [f"{e.level}/{e.file}  {e.state(context.now)}" for e in closed]
        context.answer(values, lines)
        if not values and not context.options.as_json:
            tell("there is nothing to restore")
        return 0
    from mewcode.memory.deleted import deleted_entry

    lying = [deleted_entry(level, file, change) for level, file, change in deleted]
    requests: list[Request] = []
    for wanted in context.words:
        found = matching(wanted, lying, context.now, live_first=False)
        files = {(entry.level, entry.file): entry for entry in found}
        if len(files) > 1:
            names = ", ".join(f"{level}/{file}" for level, file in files)
            raise NoteError(f"several deleted notes could be {safe_line(wanted)}: {names}", "Name a file.")
        entry = found[0] if found else context.find(wanted)
        requests.append(Restore(ref(entry)))
    return _apply_all(context, requests)


def undo(context: Context) -> int:
    done = context.store.undo(context.words[0] if context.words else "", force=context.flags.force)
    what = list(dict.fromkeys(word for change in done for word in change.what))
    context.answer({"id": done[0].id, "undoes": done[0].undoes, "what": what}, what)
    return 0


def rebuild(context: Context) -> int:
    counts = context.store.rebuild()
    context.answer(counts, [f"{level}: {count} notes" for level, count in counts.items()])
    return 0


def _apply_all(context: Context, requests: list[Request]) -> int:
    """Exits 1 where nothing came of one of them."""
    applied = context.store.apply(requests, by="user")
    values = [
        {"action": outcome.kind, "level": outcome.level, "file": outcome.file, "name": outcome.name}
        for outcome in applied.outcomes
    ]
    lines = [
        f"{_NAMED.get(outcome.kind, outcome.kind)}: {safe_line(outcome.name) or outcome.file}"
        + (f" ({outcome.reason})" if outcome.reason else "")
        for outcome in applied.outcomes
    ]
    context.answer(values, lines)
    return 1 if any(outcome.kind in ("missing", "invalid", "stale") for outcome in applied.outcomes) else 0


def _answer(context: Context, outcome: Outcome, similar: list[Entry] | None = None) -> None:
    check_done(outcome)
    entries = {entry.file: entry for entry in context.store.entries(outcome.level)}
    entry = entries[outcome.file]
    path = context.store.path(entry)
    lines = [f"{_NAMED.get(outcome.kind, outcome.kind)}: [{entry.type}] {safe_line(entry.name)}  {path}"]
    near = similar or []
    lines += [
        f"similar: [{other.type}] {safe_line(other.name)}  {context.store.path(other)}" for other in near
    ]
    value = {"action": outcome.kind, **context.fields(entry)}
    value["similar"] = [
        {"type": other.type, "name": other.name, "level": other.level, "path": context.store.path(other)}
        for other in near
    ]
    context.answer(value, lines)


def _body(words: tuple[str, ...]) -> str:
    if words == ("-",):
        data = sys.stdin.buffer.read(_MOST_INPUT + 1)
        if len(data) > _MOST_INPUT:
            raise UsageError(f"a note has at most {_MOST_INPUT:,} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise UsageError("standard input is no UTF-8 text") from None
    return " ".join(words)


def _words(text: str | None) -> tuple[str, ...]:
    """The words of a list, by commas, also those of Chinese and Japanese."""
    parts = (text or "").replace("，", ",").replace("、", ",").split(",")
    return tuple(part.strip() for part in parts if part.strip())


COMMANDS = {
    "add": add, "edit": edit, "forget": forget, "restore": restore, "undo": undo, "rebuild": rebuild,
}  # fmt: skip
