"""A writer's hold on a level: what it will change is collected, then carried out as one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mewcode.core.ids import new_id
from mewcode.infra.atomic import write_atomic
from mewcode.infra.redact import redact
from mewcode.memory.entry import CACHE, Cache, Entry, Gone, Signature, entry_of, save_cache
from mewcode.memory.files import (
    INDEX,
    NoteCalls,
    NoteFile,
    Staged,
    is_note_file,
    read_file,
    sweep,
    text_digest,
)
from mewcode.memory.found import hand_steps, hand_words
from mewcode.memory.history import By, Change, Log, Step
from mewcode.memory.index import index_text
from mewcode.memory.ledger import record_made
from mewcode.memory.names import file_key
from mewcode.memory.note import Note, changed_text, note_text, parse_note
from mewcode.memory.past import Deleted, Past, body_of
from mewcode.memory.paths import ROOMS, Shelf
from mewcode.memory.rules import without_secrets
from mewcode.memory.usage import Usage, add_rename, compact, read_usage

if TYPE_CHECKING:
    from mewcode.memory.shelf_store import Look


_NO_SIGNATURE: Signature = (0, 0, 0)
"""Of a file that is not there yet."""


class Held:
    """Made by `ShelfStore.hold`. ``entries``: the notes as they will be, by file. Raises OSError where the
    disk refuses: then nothing was changed."""

    def __init__(self, shelf: Shelf, calls: NoteCalls, now: float) -> None:
        self.shelf = shelf
        self.folder: Path = shelf.folder
        self.level = shelf.level
        self.now = now
        self.entries: dict[str, Entry] = {}
        self.log = Log(self.folder, calls)
        self.found: Change | None = None
        self._calls = calls
        self._gone: dict[str, Gone] = {}
        self._deleted: list[Deleted] | None = None
        self._usage = Usage()
        self._texts: dict[str, str | None] = {}
        self._moved: dict[str, str] = {}
        self._on_disk: set[str] = set()
        self._withheld: tuple[str, ...] = ()
        self._keys: set[str] = set()
        self._same: dict[str, set[str]] = {}
        self._is_saved = False

    def begin(self, look: Callable[[], Look], *, anew: bool) -> None:
        """Carries out what was left undone, takes note of what was done by hand, brings index and cache up to
        date."""
        sweep(self.folder)
        undone = self.log.open_change()
        if undone is not None:
            self._finish(undone)
        seen = look()
        self.entries, self._gone, self._usage = dict(seen.entries), dict(seen.cache.gone), seen.usage
        self._withheld = seen.withheld
        known = {entry.file: entry for entry in seen.cache.entries}
        is_new = anew or not seen.is_known
        changed = [
            file
            for file in seen.fresh
            if is_new or file not in known or known[file].digest != self.entries[file].digest
        ]
        if is_new or changed or seen.missing:
            past = Past(self.log.changes(), self.level)
            files = list(self.entries) if anew else changed
            steps = hand_steps(self, past, files, known, is_new=is_new)
            if is_new:
                self._gone = dict(past.gone)
            self._take_note(steps, past, is_new=is_new)
        self._on_disk = set(self.entries)
        self._is_saved = seen.is_settled and not anew

    def end(self) -> None:
        """Brings index and cache up to date, where no change did. They too make the folder one that could
        have been brought: it is sealed as ours first."""
        if not self._is_saved:
            record_made(self.shelf, set())
            self._save()

    def is_there(self, file: str) -> bool:
        """Whether a file is there, also one that does not count."""
        return file in self.entries or file in self._withheld

    @property
    def has_gone(self) -> bool:
        """Whether a person deleted anything that nobody made again."""
        return bool(self._gone)

    def is_gone(self, identity: str) -> Gone | None:
        """When and by whom a note was deleted, where a person did it and nobody made it again."""
        return self._gone.get(identity)

    def deleted(self) -> list[Deleted]:
        """What a person ever deleted or refused, the newest first. Reads the history. Raises OSError."""
        if self._deleted is None:
            self._deleted = Past(self.log.changes(), self.level).deleted[::-1]
        return self._deleted

    def same(self, identity: str) -> list[Entry]:
        """The notes of that identity."""
        if not self._same:
            for entry in self.entries.values():
                self._same.setdefault(entry.identity, set()).add(entry.file)
        return [self.entries[file] for file in sorted(self._same.get(identity, ()))]

    def is_taken(self, key: str) -> bool:
        """Whether a file (see `names.file_key`) is there, or was withheld."""
        if not self._keys:
            self._keys = {file_key(file.rpartition("/")[2]) for file in (*self.entries, *self._withheld)}
        return key in self._keys or any(os.path.lexists(self.folder / room / key) for room in ROOMS)

    def read(self, file: str) -> NoteFile | None:
        """The note as it will be. Raises OSError."""
        if file not in self.entries:
            return None
        text = self._texts.get(file)
        if text is not None:
            return NoteFile(parse_note(text, file=file, level=self.level)[0], text, self.entries[file])
        return read_file(self.folder, file, self.level)

    def write(self, file: str, note: Note, old: NoteFile | None = None) -> bool:
        """Will write the note; whether that changes anything. ``old``: what the file, or the one it comes
        from, holds: its formatting and what only its author knows are kept. Secrets are left out."""
        note = without_secrets(note)
        text = note_text(note) if old is None else changed_text(old.text, old.note, note)
        text = redact(text)
        if old is not None and text == old.text and file == old.entry.file:
            return False
        keeps_wording = old is not None and old.entry.by_hand and body_of(old.text) == body_of(text)
        self.put(file, text, by_hand=keeps_wording)
        return True

    def put(self, file: str, text: str, *, by_hand: bool = False) -> None:
        """Will give the file this text."""
        note, problem = parse_note(text, file=file, level=self.level)
        self._leave(file)
        self._texts[file] = text
        if self._keys:
            self._keys.add(file_key(file.rpartition("/")[2]))
        self._moved.pop(file, None)
        self.entries[file] = entry_of(
            note, file, _NO_SIGNATURE, text_digest(text), by_hand=by_hand, problem=problem
        )
        if self._same:
            self._same.setdefault(self.entries[file].identity, set()).add(file)

    def remove(self, file: str, *, moved: str = "") -> None:
        """Will delete the file. ``moved``: where its note went."""
        self._texts[file] = None
        self._moved[file] = moved
        self._leave(file)

    def drop(self, file: str) -> None:
        """Takes back what `put` said of a file that is not there."""
        self._texts.pop(file, None)
        self._leave(file)

    def _leave(self, file: str) -> None:
        entry = self.entries.pop(file, None)
        if entry is not None and self._same:
            self._same[entry.identity].discard(file)

    def steps(self) -> tuple[Step, ...]:
        """What will be done, file by file. Raises OSError."""
        steps = []
        for file, after in self._texts.items():
            before, was = self._on_disk_text(file)
            if before != after or was:
                by_hand = after is not None and self.entries[file].by_hand
                steps.append(Step(file, before, after, was, self._moved.get(file, ""), by_hand))
        return tuple(steps)

    def commit(
        self,
        change_id: str,
        by: By,
        what: tuple[str, ...],
        *,
        source: str = "",
        reason: str = "",
        undoes: str = "",
    ) -> Change | None:
        """Carries out what was collected, as one change; None where it is nothing."""
        steps = self.steps()
        if not steps:
            return None
        change = Change(
            change_id, self.now, by, tuple(map(redact, what)), steps, redact(source), redact(reason), undoes
        )
        staged = Staged(self.folder, steps, self._calls)
        try:
            record_made(self.shelf, {step.file for step in steps if step.after is not None})
            try:
                self.log.begin(change)
            except OSError:
                with suppress(OSError):  # where it is not in the history at all, nobody will carry it out
                    self.log.end(change.id, void=True)
                raise
            try:
                staged.carry_out()
            except OSError:
                staged.take_back()
                self.log.end(change.id, void=True)
                raise
        finally:
            staged.drop()
        with suppress(OSError):  # the next writer finds all in place, and says so
            self.log.end(change.id)
        self._texts.clear()
        self._note_gone(change)
        self._refresh(steps)
        self._save()
        return change

    def _on_disk_text(self, file: str) -> tuple[str | None, str]:
        """The text to keep in the history, and the digest of the bytes where that is not all of it."""
        if file not in self._on_disk:
            return None, ""
        read = read_file(self.folder, file, self.level)
        if read is None:
            return None, ""
        safe = redact(read.text)
        return safe, "" if safe == read.text and read.is_text else read.entry.digest

    def _refresh(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            self._on_disk.discard(step.file)
            if step.after is None:
                continue
            read = read_file(self.folder, step.file, self.level)
            if read is not None:
                by_hand = step.file in self.entries and self.entries[step.file].by_hand
                self.entries[step.file] = msgspec.structs.replace(read.entry, by_hand=by_hand)
                self._on_disk.add(step.file)
        for step in steps:
            if step.moved in self.entries:
                with suppress(OSError):  # only how often it was used is lost
                    add_rename(self.folder, step.file, step.moved, now=self.now, calls=self._calls)

    def _note_gone(self, change: Change) -> None:
        self._gone = _gone_after(self._gone, change, self)

    def _finish(self, change: Change) -> None:
        """Carries out the rest of a change that a writer began and did not end. What was changed since by
        hand stays."""
        for step in change.steps:
            if not is_note_file(step.file):  # the history may have come with the folder
                continue
            read = read_file(self.folder, step.file, self.level)
            found = "" if read is None else read.entry.digest
            before = step.was or ("" if step.before is None else text_digest(step.before))
            if found == before:
                staged = Staged(self.folder, (step,), self._calls)
                try:
                    staged.carry_out()
                finally:
                    staged.drop()
        self.log.end(change.id)

    def _take_note(self, steps: tuple[Step, ...], past: Past, *, is_new: bool) -> None:
        """Puts what was done by hand into the history."""
        by_hand = set(past.by_hand) if is_new else set()
        if steps:
            what = hand_words(steps)
            # Where nothing was known the notes were brought here, from a copy for instance.
            is_import = is_new and not past.last
            by: By = "import" if is_import else "hand"
            change = Change(new_id(), self.now, by, what, steps)
            self.log.begin(change)
            with suppress(OSError):  # the next writer finds all in place, and says so
                self.log.end(change.id)
            self.found = change
            self._note_gone(change)
            if not is_import:
                by_hand |= {step.file for step in steps if step.by_hand}
        for file in by_hand & self.entries.keys():
            self.entries[file] = msgspec.structs.replace(self.entries[file], by_hand=True)

    def _save(self) -> None:
        """Index and cache, which can be made again: what the disk refuses here is no loss."""
        self._is_saved = True
        with suppress(OSError):
            if compact(self.folder, self._usage, now=self.now):
                self._usage = Usage()
        self._usage = read_usage(self.folder, _cache_of(self._usage))
        live = [entry for entry in self.entries.values() if entry.state(self.now) == "live"]
        text = index_text(live, lambda entry: self._usage.of(entry.file)).encode()
        with suppress(OSError):
            path = self.folder / INDEX
            if not path.is_file() or path.is_symlink() or path.read_bytes() != text:
                write_atomic(path, text, durable=False)
        entries = sorted(self.entries.values(), key=lambda entry: entry.file)
        with suppress(OSError):
            cache = _cache_of(self._usage, entries, self._gone)
            save_cache(self.folder / CACHE, cache)


def _cache_of(usage: Usage, entries: list[Entry] | None = None, gone: dict[str, Gone] | None = None) -> Cache:
    return Cache(
        written=time.time_ns(),
        entries=entries or [],
        gone=gone or {},
        uses=usage.uses,
        uses_size=usage.size,
        uses_inode=usage.inode,
        uses_since=usage.since,
    )


def _gone_after(gone: dict[str, Gone], change: Change, held: Held) -> dict[str, Gone]:
    """The notes that a person deleted, after a change."""
    past = Past([change], held.level)
    made = {held.entries[step.file].identity for step in change.steps if step.file in held.entries}
    return {identity: when for identity, when in {**gone, **past.gone}.items() if identity not in made}
