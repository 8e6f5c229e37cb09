"""Real processes and failing disks: killed at any moment, many writers, no room. At full size with
MEWCODE_SOAK=1."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mewcode.core.errors import NoteError
from mewcode.memory.changes import Forget, Move, Update
from mewcode.memory.files import NoteCalls
from mewcode.memory.history import Change, Log, Step
from tests.support.notes import Refusing, add, index, note, one, ref, store

IS_SOAK = os.environ.get("MEWCODE_SOAK") == "1"
KILLS = 200 if IS_SOAK else 12
WRITERS, WRITES = (50, 100) if IS_SOAK else (6, 12)
ROOT = Path(__file__).parents[3]

# Says a number after each change that the store has taken, so that much must be there after a kill. Each
# change is of three notes at once: one that is always the same, one that is new, one that goes.
WRITER = """
import sys, time
from pathlib import Path
from tests.support.notes import note, store
from mewcode.memory.changes import Create, Forget, Ref

notes = store(Path(sys.argv[1]), clock=time.time, wait=60)
for number in range(int(sys.argv[2]), 100_000):
    pad = "x" * (number * 7919 % 3000)
    requests = [Create(note("always", f"{number} {pad}")), Create(note(f"n{number}", f"{number} {pad}"))]
    if number >= 5:
        requests.append(Forget(Ref("project", f"project_knowledge_n{number - 5}.md")))
    notes.apply(requests, by="agent")
    print(number, flush=True)
"""

MANY = """
import sys, time
from pathlib import Path
from tests.support.notes import note, store
from mewcode.memory.changes import Create

notes = store(Path(sys.argv[1]), clock=time.time, wait=float(sys.argv[4]))
for number in range(int(sys.argv[3]) // 2):
    made = notes.apply([Create(note(f"w{sys.argv[2]} 笔记 {number}", f"{number}"))], by="agent")
    assert made.outcomes[0].kind == "created", made
    notes.apply([Create(note("shared", f"{sys.argv[2]} {number}"))], by="agent")
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)


def kill_after(process: subprocess.Popen[str], words: int, pause: float) -> int:
    """Kills the process some time after that many words; returns the last that it said."""
    assert process.stdout is not None
    said = -1
    with process, process.stdout:
        for line in process.stdout:
            said = int(line) if line.endswith("\n") else said
            if words == 0:
                # the moment of the kill is what is drawn: anywhere within a change
                time.sleep(pause)
                process.send_signal(signal.SIGKILL)
            words -= 1
        process.wait()
    assert process.returncode == -signal.SIGKILL
    return said


@pytest.mark.soak
def test_a_change_before_a_kill_is_there_and_no_change_is_half(tmp_path: Path) -> None:
    chance = random.Random(7)
    number = 0
    for _ in range(KILLS):
        said = kill_after(start(WRITER, tmp_path, number), chance.randrange(4), chance.random() * 0.03)
        notes = store(tmp_path)
        notes.settle()
        last = max(said, number - 1)
        names = {entry.name: entry for entry in notes.entries()}
        newest = max(int(name[1:]) for name in names if name[0] == "n")
        assert newest in (last, last + 1), "at most what was taken and not said"
        expected = {f"n{each}" for each in range(max(0, newest - 4), newest + 1)}
        assert names.keys() == expected | {"always"}
        read = notes.read("project", names["always"].file)
        assert read is not None
        assert read.note.body.split()[0] == str(newest), "all of a change or nothing"
        assert len(index(tmp_path)) == len(names)
        assert not list((tmp_path / "project" / "memory").glob(".*.tmp")) or notes.rebuild()
        number = newest + 1
    changes = [change for _, change in store(tmp_path).history() if change.by == "agent"]
    assert len(changes) == number
    assert not [change for _, change in store(tmp_path).history() if change.by == "hand"]


@pytest.mark.soak
def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    wait = 30
    processes = [start(MANY, tmp_path, writer, WRITES, wait) for writer in range(WRITERS)]
    for process in processes:
        process.communicate(timeout=1800)
    assert [process.returncode for process in processes] == [0] * WRITERS
    notes = store(tmp_path)
    names = {entry.name for entry in notes.entries()}
    assert names == {f"w{w} 笔记 {number}" for w in range(WRITERS) for number in range(WRITES // 2)} | {
        "shared"
    }
    assert len(index(tmp_path)) == len(names)
    assert len(notes.history()) == WRITERS * WRITES
    assert all(change.by == "agent" for _, change in notes.history())
    assert notes.rebuild() == {"project": len(names), "user": 0}


def state(root: Path) -> dict[str, str]:
    """Each note's text, read from the disk."""
    return {
        str(path.relative_to(root)): path.read_text("utf-8")
        for path in root.rglob("*.md")
        if path.name != "MEMORY.md"
    }


@pytest.mark.parametrize("halves", [False, True])
def test_a_disk_that_refuses_at_any_call_changes_all_or_nothing(tmp_path: Path, halves: bool) -> None:
    """Each call of the disk in turn is the first that fails, and all behind it fail too."""
    outcomes = set()
    for after in range(40):
        root = tmp_path / str(after)
        good = store(root)
        add(good, note("a", "1"), note("b"), note("c", level="project"))
        before = state(root)
        calls = Refusing(after, halves=halves)
        bad = store(root, calls=calls)
        requests = [
            Update(ref(one(good, "a")), {"body": "2", "name": "A2"}), Forget(ref(one(good, "b"))),
            Update(ref(one(good, "c")), {"type": "reference_material"}),
        ]  # fmt: skip
        failed = False
        try:
            bad.apply(requests, by="user")
        except NoteError:
            failed = True
        touched = state(root)
        good = store(root)
        good.settle()
        add(good, note("after"))
        after_all = {name: text for name, text in state(root).items() if "after" not in name}
        names = {entry.name for entry in good.entries()}
        assert names in ({"a", "b", "c", "after"}, {"A2", "c", "after"}), (after, names)
        if not failed:
            assert names == {"A2", "c", "after"}
        if after_all == before:
            assert touched == before, "what came to nothing left nothing"
            assert failed
        assert not list(root.rglob(".*.tmp"))
        assert len(index(root)) == len(names)
        outcomes.add((failed, after_all == before))
        if not failed and not calls.refused:
            break
    assert (True, True) in outcomes
    assert (False, False) in outcomes


def test_a_disk_that_refuses_is_told_and_works_again(tmp_path: Path) -> None:
    good = store(tmp_path)
    add(good, note("a", "1"))
    calls = Refusing(0)
    notes = store(tmp_path, calls=calls)
    with pytest.raises(NoteError, match="No space left"):
        add(notes, note("b"))
    calls.left = 10_000
    assert add(notes, note("b"))[0].kind == "created"
    assert [change.what for _, change in notes.history()] == [("created a",), ("created b",)]


def test_a_move_is_never_in_no_level(tmp_path: Path) -> None:
    for after in range(30):
        root = tmp_path / str(after)
        good = store(root)
        add(good, note("a", "text"))
        add(good, note("u", level="user"))
        calls = Refusing(after)
        failed = False
        try:
            store(root, calls=calls).apply([Move(ref(one(good, "a")), "user")], by="user")
        except NoteError:
            failed = True
        store(root).settle()
        add(store(root), note("x"), note("y", level="user"))
        levels = {entry.level for entry in store(root).entries() if entry.name == "a"}
        assert levels
        assert failed or levels == {"user"}
        if not failed and not calls.refused:
            break


def test_a_history_record_that_was_not_carried_out_is(tmp_path: Path) -> None:
    """As after a kill between the record and the first file."""
    notes = store(tmp_path)
    add(notes, note("a", "1"), note("b"))
    folder = tmp_path / "project" / "memory"
    whole = state(tmp_path)
    add(notes, note("a", "2"))
    wanted = state(tmp_path)
    history = (folder / ".history.jsonl").read_bytes().splitlines(keepends=True)

    def found_after(data: bytes) -> dict[str, str]:
        """What a writer makes of that history, where no file was touched yet."""
        for name, text in whole.items():
            (tmp_path / name).write_text(text, "utf-8")
        (folder / ".history.jsonl").write_bytes(data)
        (folder / ".index.json").unlink()
        store(tmp_path).rebuild()
        return state(tmp_path)

    record = b"".join(history[:-1])
    assert found_after(record) == wanted
    assert found_after(record[:-1]) == wanted, "only its newline is missing"
    for cut in (2, 5, len(history[-2]) - 1):
        assert found_after(record[:-cut]) == whole, "half a record is none"


def test_what_was_changed_by_hand_after_a_kill_stays(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "1"))
    add(notes, note("a", "2"))
    folder = tmp_path / "project" / "memory"
    history = (folder / ".history.jsonl").read_bytes().splitlines(keepends=True)
    (folder / ".history.jsonl").write_bytes(b"".join(history[:-1]))
    path = notes.path(one(notes, "a"))
    path.write_text("---\nname: a\n---\n\nmine\n", "utf-8")
    [change] = store(tmp_path).settle()
    assert change.by == "hand"
    assert path.read_text("utf-8").endswith("mine\n")


@pytest.mark.parametrize("file", ["{outside}", "../../pipe", "pipe.md"])
def test_a_change_left_undone_that_came_with_the_folder_reads_no_pipe(tmp_path: Path, file: str) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    folder, outside = tmp_path / "project/memory", tmp_path / "pipe"
    for pipe in (outside, folder / "pipe.md"):
        os.mkfifo(pipe)
    step = Step(file.format(outside=outside), None, "x")
    Log(folder, NoteCalls()).begin(Change("theirs", 1.0, "user", ("x",), (step,)))
    assert [outcome.kind for outcome in add(store(tmp_path), note("b"))] == ["created"]
    assert outside.is_fifo()


def test_a_pipe_in_the_place_of_the_index_gives_way_to_it(tmp_path: Path) -> None:
    add(store(tmp_path), note("a"))
    path = tmp_path / "project/memory/MEMORY.md"
    path.unlink()
    os.mkfifo(path)
    add(store(tmp_path), note("b"))
    assert len(index(tmp_path)) == 2
