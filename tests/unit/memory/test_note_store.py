"""The store: one note for one fact, nothing lost, what a person did by hand stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mewcode.core.errors import NoteError, NotesBusy
from mewcode.memory.changes import (
    Approve,
    Archive,
    Close,
    Create,
    Forget,
    Move,
    Ref,
    Restore,
    Supersede,
    Update,
)
from mewcode.memory.entry import CACHE
from mewcode.memory.history import HISTORY
from mewcode.memory.lock import locked
from mewcode.memory.store import NoteStore
from tests.support.notes import NOW, add, index, note, one, ref, shelf, store

KEY = "sk-" + "a1B2" * 8


def project(tmp_path: Path) -> Path:
    return tmp_path / "project" / "memory"


def text_of(tmp_path: Path, notes: NoteStore, name: str) -> str:
    return notes.path(one(notes, name)).read_text("utf-8")


def test_the_same_fact_twice_is_one_note(tmp_path: Path) -> None:
    notes = store(tmp_path)
    first = add(notes, note("Deploy day", "Fridays.", aliases=("release",)))
    again = add(notes, note("  deploy DAY", "Mondays.", aliases=("发布",)))
    assert [first[0].kind, again[0].kind] == ["created", "updated"]
    assert first[0].file == again[0].file == "project_knowledge_deploy-day.md"
    assert index(tmp_path) == [
        "- [project_knowledge] [Deploy day](project_knowledge_deploy-day.md) — Mondays."
    ]
    assert one(notes, "Deploy day").aliases == ("release", "发布")
    assert add(notes, note("Deploy day", "Mondays."))[0].kind == "unchanged"
    assert len(notes.history()) == 2


def test_two_chinese_names_are_two_files(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("部署日", "周五"), note("部署时间", "下午"), note("🎉"), note("🎊"))
    assert len({entry.file for entry in notes.entries()}) == 4
    assert len(index(tmp_path)) == 4
    assert (project(tmp_path) / "project_knowledge_部署日.md").is_file()


def test_names_that_leave_the_same_file_name_are_two(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("C"), note("C++"), note("C#"))
    assert len({entry.file for entry in notes.entries()}) == 3


def test_files_are_the_users_alone(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("x", origin="tool"), note("y"))
    for path in [project(tmp_path), *project(tmp_path).rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_undo_takes_back_any_change_and_an_undo(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "1"))
    whole = text_of(tmp_path, notes, "a")
    add(notes, note("a", "2"))
    notes.apply([Forget(ref(one(notes, "a")))], by="user")
    assert notes.entries() == []
    forgotten = notes.history()[-1][1].id
    notes.undo()
    assert "2" in text_of(tmp_path, notes, "a")
    notes.undo()
    assert text_of(tmp_path, notes, "a") == whole
    notes.undo()
    assert notes.entries() == []
    with pytest.raises(NoteError, match="nothing to undo"):
        notes.undo()
    undo = next(change for _, change in notes.history() if change.undoes == forgotten)
    with pytest.raises(NoteError, match="taken back already"):
        notes.undo(undo.id)
    last = notes.history()[-1][1]
    notes.undo(last.id)
    assert text_of(tmp_path, notes, "a") == whole


def test_an_undo_does_not_run_over_a_later_change(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "1"))
    add(notes, note("a", "2"))
    first, second = (change.id for _, change in notes.history())
    with pytest.raises(NoteError, match=r"project_knowledge_a\.md"):
        notes.undo(first)
    notes.undo(first, force=True)
    assert notes.entries() == []
    with pytest.raises(NoteError, match="changed since"):
        notes.undo()  # the one that is left: its text is not there any more
    notes.undo(second, force=True)
    assert one(notes, "a").line == "1"


def test_a_group_of_requests_is_one_change(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("old"))
    applied = notes.apply(
        [
            Create(note("new")),
            Update(ref(one(notes, "old")), {"body": "changed", "tags": ["t"]}),
            Create(note("mine", level="user", kind="user_preference")),
            Forget(Ref("project", "nothing.md")),
        ],
        by="agent",
        source="20260101-100000-aaaa/m3",
    )
    assert [outcome.kind for outcome in applied.outcomes] == ["created", "updated", "created", "missing"]
    parts = [(level, change) for level, change in notes.history() if change.id == applied.id]
    assert [level for level, _ in parts] == ["project", "user"]
    assert {change.source for _, change in parts} == {"20260101-100000-aaaa/m3"}
    assert len(notes.undo()) == 2
    assert [(entry.name, entry.line) for entry in notes.entries()] == [("old", "About old.")]


def test_requests_see_what_came_before_them(tmp_path: Path) -> None:
    notes = store(tmp_path)
    made = notes.apply([Create(note("a", "1")), Create(note("A", "2")), Create(note("a", "2"))], by="user")
    assert [outcome.kind for outcome in made.outcomes] == ["created", "updated", "unchanged"]
    assert len(notes.entries()) == 1


def test_what_changed_meanwhile_wins(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "1"))
    seen = one(notes, "a")
    add(store(tmp_path), note("a", "2"))
    stale = Ref("project", seen.file, seen.digest)
    outcome = notes.apply([Update(stale, {"body": "3"}), Forget(stale)], by="tidy").outcomes
    assert [item.kind for item in outcome] == ["stale", "stale"]
    assert one(notes, "a").line == "2"


def test_update_refuses_what_makes_no_note(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"), note("b"))
    wrong = [{"type": "nonsense"}, {"name": "B"}, {"name": ""}, {"confidence": "x"}, {"body": 3}]
    outcomes = notes.apply([Update(ref(one(notes, "a")), fields) for fields in wrong], by="agent").outcomes
    assert [outcome.kind for outcome in outcomes] == ["invalid"] * 5
    assert all(outcome.reason for outcome in outcomes)
    assert len(notes.history()) == 1


def test_another_type_is_another_file(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    notes.used([one(notes, "a")], "recall")
    outcome = notes.apply([Update(ref(one(notes, "a")), {"type": "reference_material"})], by="user").outcomes[
        0
    ]
    assert outcome.file == "reference_material_a.md"
    assert [entry.file for entry in notes.entries()] == ["reference_material_a.md"]
    assert notes.uses()["project", "reference_material_a.md"].count == 1
    assert notes.forgotten() == []


def test_move_between_levels_and_back(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "text"))
    notes.apply([Move(ref(one(notes, "a")), "user")], by="user")
    assert [(entry.level, entry.file) for entry in notes.entries()] == [("user", "project_knowledge_a.md")]
    assert "level: user" in text_of(tmp_path, notes, "a")
    assert (index(tmp_path), len(index(tmp_path, "user"))) == ([], 1)
    assert add(notes, note("a", origin="agent"))[0].kind == "created", "a note that moved was not deleted"
    outcome = notes.apply([Move(ref(notes.entries("user")[0]), "project")], by="user").outcomes[0]
    assert outcome.kind == "invalid"
    notes.undo()
    notes.undo()
    assert [(entry.level, entry.line) for entry in notes.entries()] == [("project", "text")]


def test_forget_restore_close_archive(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "1"), note("b"), note("c"))
    a, b, c = (ref(one(notes, name)) for name in "abc")
    notes.apply([Forget(a), Close(b), Archive(c)], by="user")
    states = {entry.name: entry.state(NOW + 1) for entry in notes.entries()}
    assert states == {"b": "expired", "c": "archived"}
    assert index(tmp_path) == []
    assert [(level, file) for level, file, _ in notes.forgotten()] == [("project", a.file)]
    at_rest = Ref("project", f"archive/{c.file}")
    outcomes = notes.apply([Restore(a), Restore(b), Restore(at_rest)], by="user").outcomes
    assert [outcome.kind for outcome in outcomes] == ["restored"] * 3
    assert len(index(tmp_path)) == 3
    assert notes.forgotten() == []
    outcomes = notes.apply([Restore(a), Restore(Ref("project", "x.md"))], by="user").outcomes
    assert [outcome.kind for outcome in outcomes] == ["unchanged", "missing"]


def test_a_deleted_note_does_not_come_back_where_another_has_its_name(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("C"), note("C++"))
    entry = one(notes, "C++")
    notes.apply([Forget(ref(entry))], by="user")
    add(notes, note("c++", "new"))
    outcome = notes.apply([Restore(Ref("project", entry.file))], by="user").outcomes[0]
    assert outcome.kind in ("unchanged", "invalid")
    assert len(notes.entries()) == 2


def test_secrets_are_nowhere(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(
        notes,
        note(f"name {KEY}", f"body {KEY}", description=f"d {KEY}", aliases=(KEY,), source=(KEY,)),
        note("url", "postgres://bob:hunter2hunter@db/x"),
    )
    notes.apply([Update(ref(one(notes, "url")), {"body": f"now {KEY}"})], by="agent", source=KEY, reason=KEY)
    by_hand = project(tmp_path) / "project_knowledge_mine.md"
    by_hand.write_text(f"---\nname: mine\ndescription: {KEY}\npinned: true\n---\nkeep {KEY}\n", "utf-8")
    notes.settle()
    assert KEY not in notes.prompt_text()
    for path in project(tmp_path).rglob("*"):
        if path.is_file() and path != by_hand:
            assert KEY not in path.read_text("utf-8"), path
            assert "hunter2" not in path.read_text("utf-8"), path
    assert KEY in by_hand.read_text("utf-8"), "a person's own file is left as it is"
    notes.apply([Update(ref(one(notes, "mine")), {"tags": ["x"]})], by="user")
    assert KEY not in by_hand.read_text("utf-8")
    assert "tags: [x]" in by_hand.read_text("utf-8")


def test_what_a_person_did_by_hand_is_seen_and_kept(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("edited", origin="agent"), note("renamed", origin="agent"), note("deleted"))
    add(notes, note("same"))
    folder = project(tmp_path)
    path = folder / "project_knowledge_edited.md"
    path.write_text(path.read_text("utf-8").replace("About edited.", "My own words."), "utf-8")
    (folder / "project_knowledge_renamed.md").rename(folder / "by-hand 名.md")
    (folder / "project_knowledge_deleted.md").unlink()
    os.utime(folder / "project_knowledge_same.md")
    (folder / "new.md").write_text("No head at all.\n", "utf-8")
    names = {entry.name for entry in store(tmp_path).entries()}
    assert names == {"edited", "renamed", "same", "new"}, "a look sees it without writing"
    [change] = store(tmp_path).settle()
    assert sorted(change.what) == [
        "added new.md", "deleted project_knowledge_deleted.md", "edited project_knowledge_edited.md",
        "renamed project_knowledge_renamed.md to by-hand 名.md",
    ]  # fmt: skip
    assert len(index(tmp_path)) == 4
    assert store(tmp_path).settle() == []
    told = add(notes, note("edited", "other", origin="agent"), note("deleted", origin="agent"), by="agent")
    assert [outcome.kind for outcome in told] == ["conflict", "withheld"]
    assert "My own words." in path.read_text("utf-8")
    assert add(notes, note("renamed", "more", origin="agent"), by="agent")[0].file == "by-hand 名.md"
    assert add(notes, note("deleted", "again"))[0].kind == "created", "the user's own word brings it back"
    assert add(notes, note("edited", "The user says."))[0].kind == "updated"


def test_what_was_done_by_hand_can_be_undone(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "first"), note("b", "kept"))
    path = notes.path(one(notes, "a"))
    before = path.read_text("utf-8")
    path.write_text("---\nname: a\n---\nsecond\n", "utf-8")
    notes.path(one(notes, "b")).unlink()
    [change] = notes.settle()
    assert (change.by, len(change.steps)) == ("hand", 2)
    notes.undo(change.id)
    assert path.read_text("utf-8") == before
    assert one(notes, "b").line == "kept"


def test_a_deletion_stays_known_without_the_cache(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("by hand"), note("by command"), note("edited", origin="agent"))
    notes.apply([Forget(ref(one(notes, "by command")))], by="user")
    notes.path(one(notes, "by hand")).unlink()
    path = notes.path(one(notes, "edited"))
    path.write_text(path.read_text("utf-8") + "more\n", "utf-8")
    notes.settle()
    (project(tmp_path) / CACHE).unlink()
    fresh = store(tmp_path)
    outcomes = add(
        fresh, note("by hand", origin="agent"), note("by command", origin="agent"),
        note("edited", "no", origin="agent"), by="agent",
    )  # fmt: skip
    assert [outcome.kind for outcome in outcomes] == ["withheld", "withheld", "conflict"]


def test_notes_that_were_copied_here_count(tmp_path: Path) -> None:
    folder = project(tmp_path)
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"feedback_{number}.md").write_text(
            f"---\nname: n{number}\norigin: agent\n---\nx\n", "utf-8"
        )
    (folder / "MEMORY.md").write_text("- [x] [stale](stale.md)\n", "utf-8")
    (folder / CACHE).write_text("{", "utf-8")
    notes = store(tmp_path)
    [change] = notes.settle()
    assert change.by == "import"
    assert len(index(tmp_path)) == 3
    assert add(notes, note("n1", "y", "correction_feedback", origin="agent"), by="agent")[0].kind == "updated"


def test_an_index_that_was_changed_is_made_anew(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    path = project(tmp_path) / "MEMORY.md"
    whole = path.read_text("utf-8")
    path.write_text("merged by hand\n<<<<<<<\n", "utf-8")
    assert notes.rebuild() == {"project": 1, "user": 0}
    assert path.read_text("utf-8") == whole
    assert "a" in notes.prompt_text()


def test_what_is_no_note_is_left_alone(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    folder = project(tmp_path)
    (folder / "binary.md").write_bytes(b"\xff\xfe\x00")
    (folder / "large.md").write_bytes(b"x" * (1 << 20) + b"y")
    os.mkfifo(folder / "fifo.md")
    (folder / "link.md").symlink_to("/etc/hostname")
    (folder / "folder.md").mkdir()
    (folder / "notes.txt").touch()
    entries = {entry.file: entry for entry in notes.entries()}
    assert entries.keys() == {"project_knowledge_a.md", "binary.md", "large.md"}
    assert "UTF-8" in entries["binary.md"].problem
    assert "larger" in entries["large.md"].problem
    notes.settle()
    outcome = notes.apply([Update(Ref("project", "binary.md"), {"body": "x"})], by="user").outcomes[0]
    assert (outcome.kind, (folder / "binary.md").read_bytes()) == ("invalid", b"\xff\xfe\x00")


def test_reading_writes_nothing(tmp_path: Path) -> None:
    notes = store(tmp_path)
    assert (notes.entries(), notes.prompt_text(), notes.settle(), notes.history()) == ([], "", [], [])
    assert list(tmp_path.iterdir()) == []
    add(notes, note("a"))
    (project(tmp_path) / "new.md").write_text("x", "utf-8")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    store(tmp_path).entries()
    store(tmp_path).prompt_text()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_read_only_folder_is_read_all_the_same(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    (project(tmp_path) / CACHE).unlink()
    assert [entry.name for entry in store(tmp_path).entries()] == ["a"]


def test_another_writer_is_waited_for_and_named(tmp_path: Path) -> None:
    notes = store(tmp_path, wait=0.05)
    add(notes, note("a"))
    with locked(project(tmp_path)), pytest.raises(NotesBusy, match="has held the notes"):
        add(notes, note("b"))
    assert [entry.name for entry in notes.entries()] == ["a"]


def test_a_history_that_is_damaged_costs_its_damaged_lines_only(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "1"))
    with (project(tmp_path) / HISTORY).open("ab") as stream:
        stream.write(b'null\n[]\n{"steps": 3}\n{"torn": "')
    add(notes, note("a", "2"))
    assert len(notes.history()) == 2
    notes.undo()
    assert one(notes, "a").line == "1"


def test_a_history_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    record = {"id": "x", "ts": 1.0, "by": "user", "steps": [{"file": "../../evil.md", "after": "x"}]}
    with (project(tmp_path) / HISTORY).open("ab") as stream:
        stream.write(json.dumps(record).encode() + b"\n")
    add(notes, note("b"))
    assert not list(tmp_path.rglob("evil.md"))
    with pytest.raises(NoteError):
        notes.undo("x", force=True)


def test_a_link_in_place_of_a_room_is_not_written_through(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    (tmp_path / "elsewhere").mkdir()
    (project(tmp_path) / "inbox").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoteError, match="link"):
        add(notes, note("b", origin="web"), by="agent")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert [entry.name for entry in notes.entries()] == ["a"]


def test_a_small_start_loads_little() -> None:
    code = (
        "import sys; import mewcode.memory.store, mewcode.memory.paths\n"
        "heavy = {'yaml', 'sqlite3', 'platformdirs', 'asyncio', 'difflib', 'subprocess',"
        " 'mewcode.memory.planning', 'mewcode.memory.undo',"
        " 'mewcode.memory.similar', 'mewcode.memory.find'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_one_level_is_enough(tmp_path: Path) -> None:
    notes = NoteStore([shelf(tmp_path, "user")])
    with pytest.raises(NoteError, match="no notes of level project"):
        add(notes, note("a"))
    assert add(notes, note("a", level="user"))[0].kind == "created"


def test_approval_and_contradiction(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("port", "8080"))
    add(notes, note("from the web", "x", origin="web"), by="agent")
    outcome = notes.apply(
        [Supersede(ref(one(notes, "port")), note("port now", "9090", origin="agent"))], by="agent"
    ).outcomes[0]
    assert outcome.kind == "conflict"
    assert one(notes, "port now").conflicts_with == one(notes, "port").file
    assert [entry.name for entry in notes.live()] == ["port"]
    done = notes.apply([Approve(ref(one(notes, name))) for name in ("port now", "from the web")], by="user")
    assert [(item.kind, item.other) for item in done.outcomes] == [
        ("approved", one(notes, "port").file), ("approved", ""),
    ]  # fmt: skip
    assert {entry.name for entry in notes.live()} == {"port now", "from the web"}
    assert one(notes, "port").state(NOW) == "superseded"
