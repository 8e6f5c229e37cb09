"""The files of one level's notes: found, read, and replaced as a whole.

Only regular files directly in the folder, its inbox and its archive are notes. A link is none: it could lead
anywhere.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mewcode.core.errors import NoteError
from mewcode.infra.append_file import CAREFUL, FileCalls, write_all
from mewcode.infra.atomic import sync_dir, temporary_name
from mewcode.infra.paths import private_dir
from mewcode.memory.entry import Entry, Signature, entry_of
from mewcode.memory.ledger import TEMPORARY
from mewcode.memory.names import SUFFIX
from mewcode.memory.note import Level, Note, parse_note
from mewcode.memory.paths import ROOMS

if TYPE_CHECKING:
    from mewcode.memory.history import Step

INDEX = "MEMORY.md"
MOST_BYTES = 1 << 20
"""Of a note's file."""


class NoteCalls(FileCalls):
    """The system calls that change notes."""

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)


class NoteFile(msgspec.Struct, frozen=True):
    """A note as it was read. ``text`` is "" where the file is not to be read as text: then ``entry.problem``
    says why, and the file is left alone."""

    note: Note
    text: str
    entry: Entry

    @property
    def is_text(self) -> bool:
        return bool(self.text) or self.entry.signature[1] == 0


def scan(folder: Path) -> dict[str, Signature]:
    """The regular files that may be notes (see `is_note_file`), by their names within the folder. Raises
    OSError where the folder cannot be read; one that is missing has none."""
    found: dict[str, Signature] = {}
    for room in ROOMS:
        prefix = f"{room}/" if room else ""
        try:
            if room and (folder / room).is_symlink():
                continue
            entries = os.scandir(folder / room)
        except (FileNotFoundError, NotADirectoryError):
            continue
        with entries:
            for item in entries:
                name = item.name
                if not name.endswith(SUFFIX) or name == INDEX:
                    continue
                try:
                    if item.is_file(follow_symlinks=False):
                        status = item.stat(follow_symlinks=False)
                        found[prefix + name] = (status.st_ctime_ns, status.st_size, status.st_ino)
                except FileNotFoundError:  # deleted meanwhile
                    continue
    return found


def read_file(folder: Path, file: str, level: Level, *, by_hand: bool = False) -> NoteFile | None:
    """What a file holds; None where it is gone. Raises OSError."""
    try:
        descriptor = os.open(folder / file, os.O_RDONLY | CAREFUL)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as stream:
        signature = _signature(os.fstat(descriptor))
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        text, problem = "", f"{file} is larger than {MOST_BYTES:,} bytes"
    else:
        try:
            text, problem = data.decode(), ""
        except UnicodeDecodeError:
            text, problem = "", f"{file} is no UTF-8 text"
    note, of_head = parse_note(text, file=file, level=level)
    problem = problem or of_head
    return NoteFile(
        note,
        text,
        entry_of(note, file, signature, digest_of(data), by_hand=by_hand, problem=problem),
    )


def digest_of(data: bytes) -> str:
    """What tells a file's content from another."""
    import hashlib  # only where a file is read

    return hashlib.blake2b(data, digest_size=8).hexdigest()


def text_digest(text: str) -> str:
    """`digest_of` a file with that text."""
    return digest_of(text.encode())


def is_note_file(file: str) -> bool:
    """Whether a name from a history may be one of a note: no way out of the folder, nothing hidden."""
    room, _, name = file.rpartition("/")
    return (
        room in ROOMS
        and file == (f"{room}/{name}" if room else name)
        and name.endswith(SUFFIX)
        and name != INDEX
        and name[0] != "."
        and name.isprintable()
        and os.sep not in name
        and (os.altsep is None or os.altsep not in name)
    )


def _signature(status: os.stat_result) -> Signature:
    return status.st_ctime_ns, status.st_size, status.st_ino


class Staged:
    """New texts, on the disk beside the files that they will replace. Raises OSError when made, leaving
    nothing behind; one that is not carried out must be dropped."""

    def __init__(self, folder: Path, steps: tuple[Step, ...], calls: NoteCalls) -> None:
        self._folder = folder
        self._steps = steps
        self._calls = calls
        self._ready: dict[str, Path] = {}
        self._moved: list[Step] = []
        try:
            for step in steps:
                self._stage(step)
        except BaseException:
            self.drop()
            raise

    def _stage(self, step: Step) -> None:
        if step.after is None:
            return
        if not is_note_file(step.file):
            raise NoteError(f"no note can be named {step.file!r}")
        target = self._folder / step.file
        if target.parent != self._folder and target.parent.is_symlink():
            raise NoteError(f"{target.parent} is a link: nothing is written through it")
        if not target.parent.is_dir():
            private_dir(target.parent)
        self._ready[step.file] = self._write(target, step.after)

    def _write(self, target: Path, text: str) -> Path:
        temporary = target.with_name(temporary_name(target.name.encode()[:40].decode("utf-8", "ignore")))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        descriptor = self._calls.open(temporary, flags, 0o600)
        try:
            try:
                write_all(self._calls, descriptor, text.encode())
                self._calls.sync(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary

    def carry_out(self) -> None:
        """Puts all in place. Raises OSError, with a part of it done: see `take_back`."""
        for step in self._steps:
            target = self._folder / step.file
            if step.after is None:
                self._calls.remove(target)
            else:
                self._calls.rename(self._ready.pop(step.file), target)
            self._moved.append(step)
        for folder in {(self._folder / step.file).parent for step in self._steps}:
            sync_dir(folder)

    def take_back(self) -> None:
        """Undoes what `carry_out` did. Raises OSError where that cannot be done."""
        for step in reversed(self._moved):
            target = self._folder / step.file
            if step.was:
                raise OSError(f"{step.file}: what it was is not known in full")
            if step.before is None:
                self._calls.remove(target)
            else:
                self._calls.rename(self._write(target, step.before), target)

    def drop(self) -> None:
        """Removes what was not put in place."""
        for temporary in self._ready.values():
            with suppress(OSError):  # swept away by the next writer
                temporary.unlink(missing_ok=True)
        self._ready.clear()


def sweep(folder: Path) -> None:
    """Removes what writers that were killed left behind. For the holder of the lock."""
    for room in ROOMS:
        with suppress(OSError):  # what cannot be removed does no harm
            for name in os.listdir(folder / room):
                if name[0] == "." and re.fullmatch(TEMPORARY, name):
                    (folder / room / name).unlink()
