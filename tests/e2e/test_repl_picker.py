"""`mewcode -r` and /resume: the picker in a terminal, over real sessions."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from os import kill
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, no_traceback, ready, records, screen
from tests.support.archive import head, make_session, said
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment, run_program
from tests.support.terminal import Terminal

SIZES = pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
TITLE = "resume which session?"
DAY = 86_400.0


@pytest.fixture
def sessions(project: Path) -> Path:
    """Three sessions of this folder, the newest about the parser."""
    folder = project / ".mewcode" / "sessions"
    for age, name, prompt, answer in (
        (0.0, "aaaa", "fix the parser in main.py", "The tokenizer was wrong."),
        (1.0, "bbbb", "解析器的错误在哪里", "在第三行。"),
        (2.0, "cccc", "write the docs", "\x1b[31mWritten.\x1b[0m " + "All of it. " * 40),
    ):
        then = time.time() - age * DAY
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(then))
        lines = (
            head("x", then, branch="main", model=MODEL),
            said("m1", prompt, then),
            said("m2", answer, then, "assistant"),
        )
        make_session(folder, f"{stamp}-{name}", *lines, mtime=then)
    return folder


def squeezed(terminal: Terminal) -> str:
    """The screen without blanks: a wide character takes two cells."""
    return "".join(screen(terminal).split())


def named(sessions: Path, name: str) -> Path:
    return next(path for path in sessions.iterdir() if path.name.endswith(name))


def labels(folder: Path, kind: str) -> list[dict[str, object]]:
    return [record for record in records(folder / "conversation.jsonl") if record.get("type") == kind]


def picker(start: Start, **more: int) -> Terminal:
    """The picker in a folder that is trusted, its list read."""
    terminal = start("-r", "--trust", **more)
    terminal.wait_for_screen("write the docs")
    terminal.wait_gone("reading…")
    return terminal


@SIZES
def test_a_session_is_found_looked_at_and_continued(
    start: Start, fake_llm: FakeLLM, sessions: Path, rows: int, columns: int
) -> None:
    terminal = picker(start, rows=rows, columns=columns)
    assert terminal.lines()[0].startswith(TITLE)
    assert "this folder · newest first · 3" in terminal.lines()[0]
    assert terminal.lines()[3].startswith("❯     fix the parser in main.py")
    assert len(terminal.lines()[-1]) > 70
    terminal.send("docs")
    terminal.wait_for_screen("1 of 3")
    terminal.wait_gone("fix the parser")
    terminal.send("\x1b[C")
    terminal.wait_for_screen("All of it.")
    assert (TITLE in screen(terminal)) == (columns == 200)
    terminal.send("\x1b[D")
    terminal.wait_for_screen("^R names")
    terminal.send("\r")
    terminal.wait_gone(TITLE)
    ready(terminal)
    terminal.wait_for("❯ write the docs")
    terminal.wait_for("Written.")
    ask(terminal, "go on")
    no_traceback(terminal)


@SIZES
def test_names_pins_trash_and_back(start: Start, sessions: Path, rows: int, columns: int) -> None:
    terminal = picker(start, rows=rows, columns=columns)
    folder = named(sessions, "aaaa")
    terminal.send("\x12")
    terminal.wait_for_screen("enter keeps the title")
    terminal.send("\x15词法 lexer\r")
    terminal.wait_until(lambda: "❯词法lexer" in squeezed(terminal), "the new title")
    terminal.wait_until(
        lambda: [label["title"] for label in labels(folder, "title")] == ["词法 lexer"], "the record"
    )
    terminal.send("\x10")
    terminal.wait_for_screen("❯ *")
    terminal.wait_until(lambda: [label["pinned"] for label in labels(folder, "pin")] == [True], "the record")
    terminal.send("\x04")
    terminal.wait_for_screen("move to the trash? (y/n)")
    terminal.send("y")
    terminal.wait_for_screen("moved to the trash")
    assert not folder.exists()
    assert "newest first · 2" in terminal.lines()[0]
    terminal.send("\x1a")
    terminal.wait_for_screen("brought back")
    assert folder.is_dir()
    terminal.send("\x12\x15\r")
    terminal.wait_for_screen("fix the parser")
    terminal.send("\x13")
    terminal.wait_for_screen("by size")
    assert "write the docs" in terminal.lines()[3]
    terminal.send("\x13")
    terminal.wait_for_screen("by title")
    assert "fix the parser" in terminal.lines()[3]
    no_traceback(terminal)


@SIZES
def test_all_messages_are_searched(start: Start, sessions: Path, rows: int, columns: int) -> None:
    terminal = picker(start, rows=rows, columns=columns)
    terminal.send('"the token')
    terminal.wait_for_screen("1 The tokenizer was wrong.")
    terminal.send("\x15re:tok[a-z]+er was")
    terminal.wait_gone("nothing matches")
    terminal.wait_for_screen("1 The tokenizer was wrong.")
    terminal.send("\x15re:tok(")
    terminal.wait_for_screen("no regular expression")
    terminal.send("\x15")
    terminal.wait_for_screen("newest first · 3")
    no_traceback(terminal)


@SIZES
def test_chinese_is_shown_and_found(start: Start, sessions: Path, rows: int, columns: int) -> None:
    terminal = picker(start, rows=rows, columns=columns)
    terminal.send("错误")
    terminal.wait_for_screen("1 of 3")
    assert "❯错误" in squeezed(terminal)
    terminal.send("\r")
    terminal.wait_gone(TITLE)
    ready(terminal)
    terminal.wait_until(lambda: "在第三行。" in squeezed(terminal), "the answer")


def test_a_session_of_another_folder_goes_on_there(
    start: Start, fake_llm: FakeLLM, sessions: Path, home: Path, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    fake_llm.script(Reply.text("Noted: teal."))
    done = run_program(
        ["-p", "my colour is teal", "--model", MODEL],
        cwd=other,
        env=environment(home, anthropic=fake_llm.url),
    )
    assert done.returncode == 0, done.stderr
    terminal = picker(start)
    assert "teal" not in screen(terminal)
    terminal.send("\t")
    terminal.wait_for_screen("this repository")
    terminal.send("\t")
    terminal.wait_for_screen("everywhere")
    terminal.wait_for_screen("my colour is teal")
    terminal.send("teal\r")
    terminal.wait_gone(TITLE)
    ready(terminal)
    terminal.wait_for("Noted: teal.")
    assert "elsewhere" in screen(terminal)
    fake_llm.script(Reply.calls(("bash", {"command": "pwd > here"})), Reply.text("Done."))
    ask(terminal, "where are you?")
    terminal.wait_for_screen("Allow bash?")
    terminal.send("1")
    terminal.wait_for("Done.")
    assert (other / "here").read_text(encoding="utf-8").strip() == str(other)


def test_the_work_trees_of_a_repository(start: Start, sessions: Path, project: Path, tmp_path: Path) -> None:
    env = {**environment(tmp_path), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b"}
    env |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    tree = tmp_path / "tree"
    for command in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run(["git", *command], cwd=project, env=env, check=True, capture_output=True)
    make_session(tree / ".mewcode/sessions", "20260101-000000-dddd", head("x"), said("m1", "within the tree"))
    terminal = picker(start)
    assert "within the tree" not in screen(terminal)
    terminal.send("\t")
    terminal.wait_for_screen("within the tree")
    assert "this repository · newest first · 4" in terminal.lines()[0]


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_who_leaves_is_told_so(start: Start, sessions: Path, key: str) -> None:
    terminal = picker(start)
    terminal.send(key)
    assert terminal.wait_exit() == 1
    terminal.wait_for("no session was chosen")
    assert TITLE not in screen(terminal)
    no_traceback(terminal)


def test_a_signal_gives_the_terminal_back(start: Start, sessions: Path) -> None:
    terminal = picker(start)
    kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait_exit() == 130
    assert TITLE not in screen(terminal)
    assert b"\x1b[?1049l" in terminal.raw
    no_traceback(terminal)


def test_the_window_is_closed(start: Start, sessions: Path) -> None:
    terminal = picker(start)
    terminal.hang_up()
    assert terminal.wait_exit() in (130, -signal.SIGHUP)


def test_another_size_draws_it_anew(start: Start, sessions: Path) -> None:
    terminal = picker(start)
    terminal.resize(50, 200)
    terminal.wait_until(lambda: len(terminal.lines()[-1]) > 70, "the keys at the bottom")
    terminal.wait_for_screen("branch")
    terminal.send("\x1b[C")
    terminal.wait_for_screen("The tokenizer was wrong.")
    terminal.resize(24, 80)
    terminal.wait_gone(TITLE)
    terminal.wait_for_screen("The tokenizer was wrong.")
    terminal.send("\x1b")
    terminal.wait_for_screen(TITLE)
    terminal.resize(6, 30)
    terminal.wait_until(lambda: terminal.lines()[2].startswith("❯     fix the"), "the list in six rows")


def test_keys_typed_ahead_are_not_lost(start: Start, fake_llm: FakeLLM, sessions: Path) -> None:
    terminal = start("-r", "--trust")
    terminal.wait_for_screen(TITLE)
    terminal.send("\x1b[B")
    terminal.send("\r")
    terminal.wait_gone(TITLE)
    ready(terminal)
    terminal.wait_until(lambda: "在第三行。" in squeezed(terminal), "the answer")


def test_a_folder_without_sessions(start: Start) -> None:
    terminal = start("-r")
    terminal.wait_for_screen("no sessions here")
    assert "Tab looks in this repository" in screen(terminal)
    terminal.send("\t\t")
    terminal.wait_for_screen("no sessions anywhere")
    terminal.send("\r\x1b")
    assert terminal.wait_exit() == 1


def test_no_colours_where_none_are_wanted(start: Start, sessions: Path) -> None:
    terminal = start("-r", NO_COLOR="1")
    terminal.wait_for_screen("write the docs")
    assert b"\x1b[38;5;" not in terminal.raw
    assert b"\x1b[7m" in terminal.raw


@SIZES
def test_resume_within_a_session(
    start: Start, fake_llm: FakeLLM, sessions: Path, rows: int, columns: int
) -> None:
    terminal = start("--trust", rows=rows, columns=columns)
    fake_llm.script(Reply.text("Here I am."))
    ask(terminal, "where are you?")
    terminal.wait_for("Here I am.")
    ask(terminal, "/resume")
    terminal.wait_for_screen(TITLE)
    terminal.wait_for_screen("❯     fix the parser")
    terminal.send("\x1b[A")
    terminal.wait_for_screen("this session")
    terminal.send("\x04")
    terminal.wait_for_screen("it stays")
    terminal.send("parser")
    terminal.wait_for_screen("1 of 4")
    terminal.send("\r")
    terminal.wait_for_screen("The tokenizer was wrong.")
    ready(terminal)
    fake_llm.script(Reply.text("Fixed."))
    ask(terminal, "then mend it")
    terminal.wait_for("Fixed.")
    assert "fix the parser" in json.dumps(fake_llm.generations[-1].messages)
    ready(terminal)
    ask(terminal, "/resume")
    terminal.wait_for_screen(TITLE)
    terminal.send("\x1b")
    terminal.wait_gone(TITLE)
    ready(terminal)
    no_traceback(terminal)


def test_in_lines_it_is_a_numbered_list(fake_llm: FakeLLM, project: Path, home: Path, sessions: Path) -> None:
    argv = [*PROGRAM, "--model", MODEL, "-r", "--plain", "--trust"]
    with Terminal(argv, cwd=project, env=environment(home, anthropic=fake_llm.url)) as terminal:
        terminal.wait_for("1. fix the parser in main.py")
        terminal.wait_for("3. write the docs")
        terminal.send("3\r")
        terminal.wait_for("you: write the docs")
        no_traceback(terminal)
