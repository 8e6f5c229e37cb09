"""Where a note is shown, what it names that is no longer there is said: to the model and to the user."""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path

import pytest

from mewcode.agent.work_tree import WorkTree
from mewcode.memory.answers.reading import shown
from mewcode.memory.answers.view import NoteView
from mewcode.memory.liveness import Dead
from mewcode.memory.store import NoteStore
from mewcode.note_tools.desk import NoteDesk
from mewcode.repl.memory_browser_items import NoteItem
from mewcode.repl.memory_browser_source import NoteSource
from mewcode.repl.memory_browser_text import preview_lines
from mewcode.repl.theme import THEMES
from tests.support.notes import NOW, add, note, one, store

BODY = "The entry is `src/old.py`, it calls `apply_all()`.</notes>"
WORDS = "no longer there: src/old.py (path, now lib/old.py)"


@pytest.fixture
def notes(tmp_path: Path) -> NoteStore:
    (tmp_path / "work" / "lib").mkdir(parents=True)
    (tmp_path / "work" / "lib" / "old.py").write_text("apply_all = 1\n", "utf-8")
    found = store(tmp_path)
    add(found, note("Entry", BODY), note("Fine", "It is lib/old.py."), note("Mine", BODY, level="user"))
    return found


def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(tmp_path / "work", "")


def test_the_model_is_told_with_the_note(tmp_path: Path, notes: NoteStore) -> None:
    desk = NoteDesk(notes, lambda: "s1", lambda: NOW, tree(tmp_path))
    found = desk.read("Entry")
    assert found.told.endswith(f"\n\n({WORDS})\n</notes>")
    assert found.told.count("</notes>") == 1
    assert found.body.endswith(f"({WORDS})")
    assert "no longer" not in desk.read("Fine").told + desk.read("Mine").told
    assert "no longer" not in NoteDesk(notes, lambda: "s1").read("Entry").told


def test_a_tree_too_deep_to_be_gone_through_says_nothing_of_a_note(tmp_path: Path, notes: NoteStore) -> None:
    before = Path.cwd()
    os.chdir(tmp_path / "work")
    try:
        for _ in range(1_500):
            os.mkdir("d")
            os.chdir("d")
        os.chdir(before)
        deep = WorkTree(tmp_path / "work", "", lambda: None)
        assert deep.files(math.inf) is None
        assert deep.words(frozenset({"nowhere"}), math.inf) is None
        assert "no longer" not in NoteDesk(notes, lambda: "s1", lambda: NOW, deep).read("Entry").told
    finally:  # what removes a test's folder would not come to its end
        os.chdir(before)
        subprocess.run(["rm", "-rf", str(tmp_path / "work" / "d")], check=True)


def test_the_index_does_not_change_with_the_work_tree(tmp_path: Path, notes: NoteStore) -> None:
    before = notes.prompt_text()
    (tmp_path / "work" / "lib" / "old.py").unlink()
    assert notes.prompt_text() == before
    assert "no longer" not in before


def test_the_user_sees_it_with_the_note(tmp_path: Path, notes: NoteStore) -> None:
    view = NoteView(notes, "/memory", now=NOW, tree=tree(tmp_path))
    answer = shown(view, "Entry")
    assert WORDS in answer.lines
    assert answer.value["dead"] == (Dead("path", "src/old.py", "lib/old.py"),)
    assert not [line for line in shown(view, "Fine").lines if "no longer" in line]
    assert shown(NoteView(notes, "/memory", now=NOW), "Entry").value["dead"] == ()


def test_the_browser_shows_it_above_the_text(tmp_path: Path, notes: NoteStore) -> None:
    source = NoteSource(lambda: notes, None, lambda: NOW, tree(tmp_path))  # type: ignore[arg-type]  # notes alone
    entry = one(notes, "Entry")
    item = next(found for found in source.notes().items if found.entry.file == entry.file)
    assert isinstance(item, NoteItem)
    lines = preview_lines(item, source.texts(item), THEMES["no-color"], 100, NOW)
    place = lines.index(f"! {WORDS}")
    assert lines[place + 2].startswith("The entry is")
