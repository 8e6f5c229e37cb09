"""What the browser of notes asks of the store and of the instructions. All of it waits for the disk and for
other writers: it is called in threads, and raises `MewCodeError`, whose message the user is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from mewcode.core.errors import NoteError
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.changing import said
from mewcode.memory.changes import UNDONE, Approve, Forget, Move, Ref, Request, Restore, Update
from mewcode.memory.dates import time_of
from mewcode.memory.deleted import deleted_entry
from mewcode.memory.entry import Entry, Use
from mewcode.memory.history import by_id
from mewcode.memory.index import in_order
from mewcode.memory.liveness import check_note, dead_words
from mewcode.memory.note import LEVELS
from mewcode.memory.undo import find_change, undone_ids
from mewcode.repl.memory_browser_items import ChangeItem, FileItem, Item, NoteItem

if TYPE_CHECKING:
    from mewcode.instructions.load import Instructions
    from mewcode.instructions.tree import Node
    from mewcode.memory.history import Change
    from mewcode.memory.liveness import Tree
    from mewcode.memory.note import Level
    from mewcode.memory.store import NoteStore

_BACK = "^Z takes it back"


class InstructionFiles(Protocol):
    """The session's instructions; see `instructions.gate.InstructionGate`."""

    def look(self) -> Instructions: ...

    def stale(self) -> tuple[str, ...]: ...


class Notes(msgspec.Struct, frozen=True):
    """``withheld``: files that came with the folder, which the user does not trust."""

    items: list[NoteItem]
    withheld: int = 0


class Past(msgspec.Struct, frozen=True):
    """What the history tells, the newest first. ``problem``: why what was done by hand is not in it."""

    forgotten: list[NoteItem]
    changes: list[ChangeItem]
    problem: str = ""


class Text(msgspec.Struct, frozen=True):
    """A text for the preview, without secrets. ``title`` "" for the item's own. ``dead``: what it names that
    is no longer there, in words."""

    body: str
    title: str = ""
    dead: str = ""


class NoteSource:
    """``open_store`` gives the notes, and may raise where they are off; ``clock`` Unix time; ``tree``: what
    notes are held against. ``told``: what was done that the model should hear of, a line each."""

    def __init__(
        self,
        open_store: Callable[[], NoteStore],
        instructions: InstructionFiles,
        clock: Callable[[], float] = time.time,
        tree: Tree | None = None,
    ) -> None:
        self.told: list[str] = []
        self._open = open_store
        self._instructions = instructions
        self._clock = clock
        self._tree = tree

    def notes(self) -> Notes:
        """The notes as they are now, in the order of an index, the project's first. One look at each file."""
        now, looks = self._clock(), self._open().look()
        found: list[NoteItem] = []
        for level in LEVELS:
            if (look := looks.get(level)) is None:
                continue
            for entry in in_order(list(look.entries.values())):
                use, changed = look.usage.of(entry.file), time_of(entry.updated) or 0.0
                found.append(NoteItem(entry, entry.state(now), use, changed))
        return Notes(found, sum(len(look.withheld) for look in looks.values()))

    def past(self) -> Past:
        """What was changed, and what was deleted. Takes note of what was done by hand first."""
        store, problem = self._open(), ""
        try:
            store.settle()
        except NoteError as error:  # what is known of it is right all the same
            problem = error.message
        parts = by_id(store.history())
        undone = undone_ids([found[0][1] for found in parts.values()])
        changes = [
            ChangeItem(tuple(found), _what(change for _, change in found), name in undone)
            for name, found in parts.items()
        ]
        forgotten = [
            NoteItem(deleted_entry(level, file, change), "forgotten", Use(), change.ts, change)
            for level, file, change in store.forgotten()
        ]
        return Past(forgotten, changes[::-1], problem)

    def files(self) -> list[FileItem]:
        """The files of instructions in force, each with what it includes below it; then those that failed."""
        loaded = self._instructions.look()
        found = [item for document in loaded.documents for item in _files_of(document.node, 0, document.cut)]
        found += [
            FileItem(skipped.path, skipped.shown, 0, f"{skipped.level}, skipped", (skipped.reason,))
            for skipped in loaded.skipped
        ]
        for waiting in loaded.waiting:
            paths = ", ".join(waiting.rule.paths or ())
            found.append(FileItem(waiting.file.path, waiting.file.path.name, 0, f"waits for {paths}"))
        return found

    def texts(self, item: Item) -> list[Text]:
        """What a preview shows of an item beside what is known of it: a note's body, and that of the note it
        stands against; a file's text."""
        if isinstance(item, NoteItem):
            return self._bodies(item)
        if isinstance(item, FileItem):
            return [Text(redact(_file_text(item)))]
        return []

    def _bodies(self, item: NoteItem) -> list[Text]:
        entry = item.entry
        if item.deletion is not None:
            from mewcode.memory.past import body_of

            text = next((step.before or "" for step in item.deletion.steps if step.file == entry.file), "")
            return [Text(redact(body_of(text)))]
        bodies = [self._body(entry.level, entry.file)]
        if entry.conflicts_with:
            title = f"in force, and contradicted by it: {entry.conflicts_with}"
            bodies.append(self._body(entry.level, entry.conflicts_with, title))
        return bodies

    def _body(self, level: Level, file: str, title: str = "") -> Text:
        read = self._open().read(level, file)
        if read is None:
            return Text("(the file is gone)", title)
        dead = dead_words(check_note(read.note, self._tree)) if self._tree is not None else ""
        return Text(redact(read.note.body), title, dead)

    def path(self, item: Item) -> Path | None:
        """The file to be opened in an editor; None where there is none."""
        if isinstance(item, NoteItem):
            return None if item.deletion is not None else self._open().path(item.entry)
        return item.path if isinstance(item, FileItem) else None

    def edited(self, item: Item) -> str:
        """Takes note of what the user has written into the item's file, and says what came of it."""
        if not isinstance(item, NoteItem):
            names = self._instructions.stale()
            listed = ", ".join(safe_line(name, 60) for name in names[:3])
            return f"changed: {listed} · the model is told with your next message" if names else ""
        entry = item.entry
        self._open().settle()
        there = {found.file: found for found in self._open().entries(entry.level)}
        after = there.get(entry.file)
        if after is None:
            return f"the file is gone: {entry.file}"
        if after.problem:
            return after.problem
        if after.digest == entry.digest:
            return "nothing new"
        self.told.append(f"changed by hand: {_name(after)}")
        return f"updated: {_name(after)}"

    # What changes a note; each gives a word on what became of it.

    def pin(self, item: NoteItem) -> str:
        pinned = not item.entry.pinned
        return self._apply(Update(_ref(item), {"pinned": pinned}), "pinned" if pinned else "no longer pinned")

    def move(self, item: NoteItem) -> str:
        to: Level = "user" if item.entry.level == "project" else "project"
        return self._apply(Move(_ref(item), to), f"moved to level {to}")

    def forget(self, item: NoteItem) -> str:
        words = "refused" if item.standing == "inbox" else "forgotten"
        return self._apply(Forget(_ref(item)), words, is_told=True)

    def restore(self, item: NoteItem) -> str:
        return self._apply(Restore(_ref(item)), "restored", is_told=True)

    def approve(self, item: NoteItem) -> str:
        return self._apply(Approve(_ref(item)), "approved", is_told=True)

    def _apply(self, request: Request, words: str, *, is_told: bool = False) -> str:
        outcome = self._open().apply([request], by="user").outcomes[0]
        name = safe_line(outcome.name, 60) or outcome.file
        if outcome.kind == "unchanged":
            return f"{said(outcome)}: {name}"
        if outcome.kind in UNDONE:
            return f"nothing was changed: {outcome.reason or outcome.kind}"
        closed = f", which closes {outcome.other}" if outcome.kind == "approved" and outcome.other else ""
        done = f"{words}: {name}{closed}"
        if is_told:
            self.told.append(done)
        return f"{done} · {_BACK}"

    def last_change(self) -> tuple[str, str]:
        """The change that an undo takes back, and what it did. Raises NoteError where there is none."""
        history = self._open().history()
        wanted = find_change(history, "")
        return wanted, _what(change for _, change in history if change.id == wanted)

    def undo(self, change_id: str) -> str:
        try:
            done = self._open().undo(change_id)
        except NoteError as error:
            if "--force" not in error.hint:
                raise
            raise NoteError(error.message, f"mewcode memory undo {change_id} --force does it.") from error
        words = _what(done)
        self.told.append(words)
        return words


def _name(entry: Entry) -> str:
    return safe_line(entry.name, 60)


def _what(changes: Iterable[Change]) -> str:
    """What these changes did, which are one, on one line."""
    return safe_line(
        redact("; ".join(dict.fromkeys(word for change in changes for word in change.what))), 500
    )


def _ref(item: NoteItem) -> Ref:
    """The note as the user has seen it: what it became since is not undone by what they say of it."""
    return Ref(item.entry.level, item.entry.file, item.entry.digest)


def _files_of(node: Node, depth: int, cut: str = "") -> Iterator[FileItem]:
    left_out = [
        f"line {include.line}: {include.written} was left out: {include.reason}"
        for include in node.includes()
        if include.outcome == "skipped"
    ]
    problems = [*node.warnings, *([f"cut: {cut or node.cut}"] if cut or node.cut else []), *left_out]
    about = f"{node.level}, {node.size:,} bytes, about {node.tokens:,} tokens"
    yield FileItem(node.path, node.shown, depth, about, tuple(problems))
    for include in node.includes():
        if include.node is not None:
            yield from _files_of(include.node, depth + 1)


def _file_text(item: FileItem) -> str:
    from mewcode.instructions.instruction_file import Unreadable, read_instruction_file

    try:
        return read_instruction_file(item.path).text if item.path is not None else ""
    except Unreadable as error:
        return f"({error})"
