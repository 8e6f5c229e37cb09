"""`add`, `edit`, and the words that change notes: what they do can be taken back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from mewcode.core.errors import NoteError, UsageError
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.changing import forgotten, moved, pinned, restored, said, undone
from mewcode.memory.answers.view import Answer, ref
from mewcode.memory.changes import UNDONE, Create, Move, Outcome, Ref, Update
from mewcode.memory.entry import Entry
from mewcode.memory.find import matching
from mewcode.memory.note import Note, level_of
from mewcode.memory_commands.context import Context

_MOST_INPUT = 1_000_000
"""Characters of a body from standard input."""


def add(context: Context) -> Answer:
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
    return _answer(context, outcome, similar)


def edit(context: Context) -> Answer:
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
        _check_done(outcome)
    if level is not None and level != outcome.level:
        outcome = context.store.apply([Move(Ref(outcome.level, outcome.file), level)], by="user").outcomes[0]
    return _answer(context, outcome)


def _found(context: Context, wanted: str) -> Entry:
    """The note to be edited: here the flags say what it will be, not which it is."""
    found = matching(wanted, context.store.entries(), context.view.now)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoteError(f"there is no note {safe_line(wanted)}", "See them all: mewcode memory list --all")
    files = ", ".join(str(context.store.path(entry)) for entry in found[:5])
    raise NoteError(f"{len(found)} notes could be {safe_line(wanted)}: {files}", "Name its file.")


def _edit_by_hand(context: Context, entry: Entry) -> Answer:
    from mewcode.repl.editor import editor_command

    if not sys.stdin.isatty():
        raise UsageError("nothing to change was given", 'Such as: mewcode memory edit NAME "the new text"')
    beside = context.view.settle()
    path = context.store.path(entry)
    code = subprocess.call([*editor_command(context.environ), str(path)], env=dict(context.environ))
    changed = context.store.settle()
    after = {found.file: found for found in context.store.entries(entry.level)}.get(entry.file)
    if after is not None and after.problem:
        beside = (*beside, after.problem)
    action = "updated" if changed else "unchanged"
    line = f"{'updated' if changed else 'nothing new'}: {path}"
    return Answer({"action": action, "path": path}, (line,), beside, is_done=code == 0)


def forget(context: Context) -> Answer:
    return forgotten(context.view, context.words)


def restore(context: Context) -> Answer:
    return restored(context.view, context.words)


def undo(context: Context) -> Answer:
    return undone(context.view, *context.words, force=context.flags.force)


def pin(context: Context) -> Answer:
    return pinned(context.view, context.words, on=True)


def unpin(context: Context) -> Answer:
    return pinned(context.view, context.words, on=False)


def move(context: Context) -> Answer:
    *name, level = context.words
    return moved(context.view, " ".join(name), level)


def inbox(context: Context) -> Answer:
    from mewcode.memory.answers.inbox import inbox

    return inbox(context.view, context.words)


def tidy(context: Context) -> Answer:
    from mewcode.memory_commands.tidying import tidy_now

    return tidy_now(context)


def rebuild(context: Context) -> Answer:
    counts = context.store.rebuild()
    return Answer(counts, tuple(f"{level}: {count} notes" for level, count in counts.items()))


def _answer(context: Context, outcome: Outcome, similar: Sequence[Entry] = ()) -> Answer:
    _check_done(outcome)
    entries = {entry.file: entry for entry in context.store.entries(outcome.level)}
    entry = entries[outcome.file]
    path = context.store.path(entry)
    lines = [f"{said(outcome)}: [{entry.type}] {safe_line(entry.name)}  {path}"]
    lines += [
        f"similar: [{other.type}] {safe_line(other.name)}  {context.store.path(other)}" for other in similar
    ]
    value = {"action": outcome.kind, **context.view.fields(entry)}
    value["similar"] = [
        {"type": other.type, "name": other.name, "level": other.level, "path": context.store.path(other)}
        for other in similar
    ]
    return Answer(value, tuple(lines))


def _check_done(outcome: Outcome) -> None:
    """Raises NoteError where nothing came of a request, unless there was nothing to do."""
    if outcome.kind in UNDONE and outcome.kind != "unchanged":
        raise NoteError(outcome.reason or f"nothing was changed ({outcome.kind})")


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
    "add": add, "edit": edit, "forget": forget, "restore": restore, "undo": undo, "pin": pin, "unpin": unpin,
    "move": move, "inbox": inbox, "tidy": tidy, "rebuild": rebuild,
}  # fmt: skip
