"""The store against a model of it, under requests drawn at random, hand edits and lost caches among them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import NoteError
from mewcode.memory.changes import Archive, Close, Forget, Move, Restore, Update
from mewcode.memory.entry import CACHE, Entry
from mewcode.memory.names import name_key
from mewcode.memory.store import NoteStore
from tests.support.notes import NOW, add, index, note, ref, store

Model = dict[tuple[str, str], tuple[str, str]]
"""Level and name of each note: its body and its state."""

NAMES = st.sampled_from(["Deploy", "deploy", "部署", "C++", "C", "🎉"])
BODIES = st.sampled_from(["one", "two", "三", "four\n\nlines"])
LEVELS = st.sampled_from(["project", "user"])
STEP = st.tuples(
    st.sampled_from([
        "add", "add", "add", "update", "forget", "restore", "close", "archive", "move", "undo", "edit",
        "delete", "lose cache", "rebuild", "settle", "again",
    ]),
    NAMES, BODIES, LEVELS,
)  # fmt: skip


class Twin:
    """A store, and what it should hold."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notes = store(root)
        self.model: Model = {}
        self.past: list[Model] = []

    def entry(self, level: str, name: str) -> Entry | None:
        """The note of that name that is in force, else at rest."""
        found = [
            entry
            for entry in self.notes.entries()
            if entry.level == level and name_key(entry.name) == name_key(name)
        ]
        assert len(found) <= 1, "two notes of one identity"
        return found[0] if found else None

    def step(self, kind: str, name: str, body: str, level: str) -> None:
        key = (level, name_key(name))
        entry = self.entry(level, name)
        act: Callable[[], None] | None = getattr(self, f"_{kind.replace(' ', '_')}", None)
        assert act is not None
        self._now = (key, name, body, level, entry)
        before = dict(self.model)
        act()
        if self.model != before and kind not in ("undo", "edit", "delete"):
            self.past.append(before)

    def _add(self) -> None:
        key, name, body, level, entry = self._now
        if entry is not None and entry.room:
            return  # one at rest may have a twin in force: the model has no word for that
        add(self.notes, note(name, body, level=level))  # type: ignore[arg-type]
        self.model[key] = (body, "live")

    def _update(self) -> None:
        key, _, body, _, entry = self._now
        if entry is not None:
            self.notes.apply([Update(ref(entry), {"body": body})], by="user")
            self.model[key] = (body, self.model[key][1])

    def _forget(self) -> None:
        key, _, _, _, entry = self._now
        if entry is not None:
            self.notes.apply([Forget(ref(entry))], by="user")
            del self.model[key]

    def _restore(self) -> None:
        key, _, _, _, entry = self._now
        if entry is not None:
            self.notes.apply([Restore(ref(entry))], by="user")
            self.model[key] = (self.model[key][0], "live")

    def _close(self) -> None:
        key, _, _, _, entry = self._now
        if entry is not None and not entry.room:
            self.notes.apply([Close(ref(entry), "2020-01-01")], by="user")
            self.model[key] = (self.model[key][0], "expired")

    def _archive(self) -> None:
        key, _, _, _, entry = self._now
        if entry is not None:
            self.notes.apply([Archive(ref(entry))], by="tidy")
            self.model[key] = (self.model[key][0], "archived")

    def _move(self) -> None:
        key, name, _, level, entry = self._now
        to = "user" if level == "project" else "project"
        if entry is not None and self.entry(to, name) is None:
            self.notes.apply([Move(ref(entry), to)], by="user")  # type: ignore[arg-type]
            self.model[to, key[1]] = self.model.pop(key)

    def _undo(self) -> None:
        try:
            self.notes.undo()
        except NoteError as error:
            if self.past and "changed since" not in error.message:
                raise
            return
        self.model = self.past.pop()

    def _edit(self) -> None:
        key, _, body, _, entry = self._now
        if entry is not None and not entry.room:
            path = self.notes.path(entry)
            text = path.read_text("utf-8")
            path.write_text(text[: text.index("\n---\n", 4) + 5] + "\n" + body + "\n", "utf-8")
            self.model[key] = (body, self.model[key][1])
            self.past.clear()
            self._forget_past()

    def _delete(self) -> None:
        key, _, _, _, entry = self._now
        if entry is not None:
            self.notes.path(entry).unlink()
            del self.model[key]
            self._forget_past()

    def _forget_past(self) -> None:
        """What is undone behind a change by hand depends on both: the model begins anew."""
        self.notes.settle()
        self.past = []
        folders = [item.folder for item in self.notes.levels.values() if item.folder.is_dir()]
        for folder in folders:
            (folder / ".history.jsonl").unlink(missing_ok=True)

    def _lose_cache(self) -> None:
        for level in ("project", "user"):
            (self.root / level / "memory" / CACHE).unlink(missing_ok=True)

    def _rebuild(self) -> None:
        self.notes.rebuild()

    def _settle(self) -> None:
        self.notes.settle()

    def _again(self) -> None:
        """Another process."""
        self.notes = store(self.root)

    def check(self) -> None:
        found: Model = {}
        for entry in self.notes.entries():
            read = self.notes.read(entry.level, entry.file)
            assert read is not None
            found[entry.level, name_key(entry.name)] = (read.note.body, entry.state(NOW))
        assert found == self.model
        self.check_index(self.notes)

    def check_index(self, notes: NoteStore) -> None:
        notes.settle()
        for level in ("project", "user"):
            live = [
                name for (where, name), (_, state) in self.model.items() if where == level and state == "live"
            ]
            if notes.levels[level].folder.is_dir():  # type: ignore[index]
                assert len(index(self.root, level)) == len(live)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(st.lists(STEP, max_size=14))
def test_the_store_holds_what_the_model_holds(steps: list[tuple[str, str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        twin = Twin(Path(folder))
        for step in steps:
            twin.step(*step)
            twin.check()
