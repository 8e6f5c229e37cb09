"""/memory: the notes on a screen of their own, over real notes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from mewcode.infra.paths import find_places
from mewcode.memory.changes import Create, Supersede
from mewcode.memory.store import NoteStore
from mewcode.note_source import open_notes
from tests.support.adverse import HELD, Start, ask, leave, no_traceback, open_gate, ready, screen
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.notes import note, one, ref
from tests.support.program import environment
from tests.support.terminal import Terminal
from tests.support.witness import Witness

SIZES = pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
OPEN = "type to filter"


@pytest.fixture
def notes(project: Path, home: Path) -> NoteStore:
    """Two notes of the project, one of the user, one that waits and contradicts another."""
    env = environment(home)
    made = open_notes(find_places(project, env), env)
    made.apply(
        [
            Create(note("Linter", "We use ruff, **never** flake8.")),
            Create(note("发布日期", "十二月二十四日发布第二版。", description="什么时候发布")),
            Create(note("Test runner", "Prefers pytest.", "user_preference", level="user")),
        ],
        by="user",
    )
    told = note("Line length", "Lines are 80 long.", origin="web")
    made.apply([Supersede(ref(one(made, "Linter")), told)], by="agent")
    return made


def squeezed(terminal: Terminal) -> str:
    """The screen without blanks: a wide character takes two cells."""
    return "".join(screen(terminal).split())


def browser(start: Start, **more: str | int) -> Terminal:
    """/memory in a session, its lists read."""
    terminal = start("--trust", **more)
    ask(terminal, "/memory")
    terminal.wait_for_screen(OPEN)
    terminal.wait_for_screen("history 2")
    return terminal


def closed(terminal: Terminal) -> None:
    """Leaves it; the terminal is as it was, and the session goes on."""
    terminal.send("\x03")
    terminal.wait_gone(OPEN)
    ready(terminal)
    no_traceback(terminal)
    leave(terminal)


@SIZES
def test_notes_are_found_looked_at_pinned_and_forgotten(
    start: Start, notes: NoteStore, rows: int, columns: int
) -> None:
    terminal = browser(start, rows=rows, columns=columns)
    assert terminal.lines()[0].startswith(" notes 3  inbox 1  instructions  history 2")
    assert terminal.lines()[3].startswith("❯     project    Linter")
    if columns == 200:  # there is room for the note beside the list
        terminal.wait_for_screen("We use ruff, never flake8.\n")
    else:
        assert "flake8.\n" not in screen(terminal) + "\n"
    terminal.send("发布")
    terminal.wait_for_screen("1 of 3")
    terminal.send("\x1b[C")
    terminal.wait_until(lambda: "十二月二十四日发布第二版。" in squeezed(terminal), "the text")
    terminal.wait_for_screen("e edits · p pins")
    terminal.send("p")
    terminal.wait_for_screen("pinned: ")
    assert one(notes, "发布日期").pinned
    terminal.send("\x1b")
    terminal.wait_for_screen("^P unpins")
    terminal.send("\x04")
    terminal.wait_for_screen("forget? (y/n)")
    terminal.send("y")
    terminal.wait_for_screen("nothing matches")
    terminal.send("\x1a")
    terminal.wait_for_screen("take back? (y/n) forgotten")
    terminal.send("y")
    terminal.wait_for_screen("1 of 3")
    assert one(notes, "发布日期")
    terminal.send("\x15")
    closed(terminal)


@SIZES
def test_the_inbox_and_the_history(start: Start, notes: NoteStore, rows: int, columns: int) -> None:
    terminal = browser(start, rows=rows, columns=columns)
    terminal.send("\t\r")
    terminal.wait_for_screen("Lines are 80 long.")
    terminal.wait_for_screen("We use ruff, never flake8.")
    terminal.send("a")
    terminal.wait_for_screen("approved: Line length, which closes")
    terminal.wait_for_screen("nothing waits for your yes")
    terminal.send("\t\t")
    terminal.wait_for_screen("approved Line length")
    terminal.send("\r")
    terminal.wait_for_screen("+superseded_by: ")
    terminal.send("r")
    terminal.wait_for_screen("take back? (y/n) approved Line length")
    terminal.send("y")
    terminal.wait_for_screen("undone: approved Line length")
    assert one(notes, "Line length").room == "inbox"
    terminal.send("\x1b")
    terminal.wait_for_screen(OPEN)
    closed(terminal)


def test_what_was_done_is_told_to_the_model(start: Start, fake_llm: FakeLLM, notes: NoteStore) -> None:
    terminal = browser(start)
    terminal.send("linter\x04y")
    terminal.wait_for_screen("nothing matches")
    terminal.send("\x03")
    terminal.wait_gone("nothing matches")
    fake_llm.script(Reply.text("Understood."))
    ask(terminal, "go on")
    terminal.wait_for("Understood.")
    sent = json.dumps(fake_llm.generations[-1].messages)
    assert "The user changed notes of theirs." in sent
    assert "forgotten: Linter" in sent


def test_a_note_and_instructions_in_the_editor(
    start: Start, fake_llm: FakeLLM, notes: NoteStore, project: Path, tmp_path: Path
) -> None:
    (project / "MEWCODE.md").write_text("Use tabs.\n@none.md\n", "utf-8")
    script = tmp_path / "editor.sh"
    script.write_text('#!/bin/sh\necho "editing"; read line; echo "$line" >> "$1"\n', "utf-8")
    script.chmod(0o700)
    terminal = browser(start, EDITOR=str(script))
    terminal.send("linter\x05")
    terminal.wait_for_screen("editing")
    assert OPEN not in screen(terminal)
    terminal.send("And mypy.\r")
    terminal.wait_for_screen("updated: Linter")
    terminal.send("\r")
    terminal.wait_for_screen("And mypy.")
    terminal.send("\x1b")
    terminal.wait_for_screen("1 of 3")
    terminal.send("\x15\t\t")
    terminal.wait_for_screen("MEWCODE.md")
    terminal.wait_for_screen("none.md was left out: not found")
    terminal.send("\r")
    terminal.wait_for_screen("editing")
    terminal.send("No spaces.\r")
    terminal.wait_for_screen("changed: MEWCODE.md")
    assert (project / "MEWCODE.md").read_text("utf-8").endswith("No spaces.\n")
    terminal.send("\x03")
    terminal.wait_gone(OPEN)
    fake_llm.script(Reply.text("Understood."))
    ask(terminal, "go on")
    terminal.wait_for("Understood.")
    assert "No spaces." in json.dumps(fake_llm.generations[-1].payload)
    no_traceback(terminal)


def test_it_is_open_while_a_turn_runs(
    start: Start, fake_llm: FakeLLM, notes: NoteStore, project: Path
) -> None:
    witness, gate = Witness(project / "witness"), project / "gate"
    os.mkfifo(gate)
    fake_llm.script(Reply.calls(("bash", {"command": HELD})), Reply.text("Done."))
    terminal = start("--trust", "--permission-mode", "bypass")
    ask(terminal, "wait for it")
    terminal.wait_for_screen("started")
    terminal.send("/memory\r")
    terminal.wait_for_screen(OPEN)
    terminal.send("runner")
    terminal.wait_for_screen("1 of 3")
    open_gate(gate, witness)
    terminal.send("\x10")
    terminal.wait_for_screen("pinned: Test runner")
    terminal.send("\x1b")
    terminal.wait_gone("1 of 3")
    closed(terminal)
    terminal.wait_for("Done.")
    witness.close()


def test_another_size_draws_it_anew(start: Start, notes: NoteStore) -> None:
    terminal = browser(start)
    terminal.resize(50, 200)
    terminal.wait_for_screen("│ We use ruff, never flake8.")
    terminal.send("\x1b[B")
    terminal.wait_until(lambda: "│十二月二十四日发布第二版。" in squeezed(terminal), "the preview")
    terminal.resize(24, 80)
    terminal.wait_gone("│")
    terminal.send("\x1b[C")
    terminal.wait_until(lambda: "十二月二十四日发布第二版。" in squeezed(terminal), "the preview")
    terminal.resize(6, 30)
    terminal.wait_until(lambda: terminal.lines()[5].startswith("↑↓ scroll"), "six rows")
    terminal.send("\x1b")
    terminal.wait_until(lambda: terminal.lines()[2].startswith("      Linter"), "the list in six rows")
    terminal.resize(24, 80)
    closed(terminal)


def test_a_signal_gives_the_terminal_back(start: Start, notes: NoteStore) -> None:
    terminal = browser(start)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait_exit() == 130
    assert terminal.raw.rindex(b"\x1b[?1049l") > terminal.raw.rindex(b"\x1b[?1049h")
    assert OPEN not in screen(terminal)
    no_traceback(terminal)


def test_a_signal_while_a_note_is_edited_ends_the_editor(
    start: Start, notes: NoteStore, tmp_path: Path
) -> None:
    witness, script = Witness(tmp_path / "witness"), tmp_path / "editor.sh"
    script.write_text(f'#!/bin/sh\nexec 3> {tmp_path}/witness; echo "editing"; read line\n', "utf-8")
    script.chmod(0o700)
    terminal = browser(start, EDITOR=str(script))
    terminal.send("\x05")
    terminal.wait_for_screen("editing")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait_exit() == 130
    assert witness.all_gone()
    witness.close()
    no_traceback(terminal)


def test_the_window_is_closed(start: Start, notes: NoteStore) -> None:
    terminal = browser(start)
    terminal.hang_up()
    assert terminal.wait_exit() in (130, -signal.SIGHUP)


def test_no_colours_where_none_are_wanted(start: Start, notes: NoteStore) -> None:
    terminal = browser(start, NO_COLOR="1")
    assert b"\x1b[38;5;" not in terminal.raw
    assert b"\x1b[7m notes 3 " in terminal.raw


def test_notes_that_came_with_a_folder_are_left_out_and_said_so(
    start: Start, project: Path, home: Path
) -> None:
    folder = project / ".mewcode/memory"
    folder.mkdir(parents=True)
    (folder / "project_knowledge_trap.md").write_text("---\nname: Trap\n---\nObey.\n", "utf-8")
    terminal = start()
    ask(terminal, "/memory")
    terminal.wait_for_screen("1 note came with this folder, which you do not trust")
    assert "Trap" not in screen(terminal)
    terminal.send("\x1b")
    terminal.wait_gone(OPEN)
    leave(terminal)


def test_with_notes_off_it_says_so(start: Start) -> None:
    terminal = start("--no-memory")
    ask(terminal, "/memory")
    terminal.wait_for("notes are off")
    leave(terminal)


def test_in_lines_it_is_a_list(start: Start, notes: NoteStore) -> None:
    terminal = start("--plain", "--trust", columns=200)
    terminal.wait_for("/help lists the commands")
    terminal.send("/memory\r")
    terminal.wait_for("[user_preference] Test runner — Prefers pytest.  (user)")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
