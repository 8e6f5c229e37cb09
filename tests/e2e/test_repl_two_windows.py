"""Two windows on one session: the second one is told, and reads, forks, waits or leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, files_of, leave, no_traceback, ready, records
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal

BUSY = "open in another window (process"


@pytest.fixture(autouse=True)
def no_side_calls(home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("sessions:\n  titles: false\n  briefs: false\n")


def exchange(terminal: Terminal, fake_llm: FakeLLM, words: str, answer: str) -> None:
    fake_llm.script(Reply.text(answer))
    ask(terminal, words)
    terminal.wait_for(answer)
    ready(terminal)


def sent(fake_llm: FakeLLM) -> str:
    return json.dumps(fake_llm.generations[-1].messages, ensure_ascii=False)


def opened(start: Start, fake_llm: FakeLLM, project: Path) -> tuple[Terminal, Path]:
    """A window with a session in which something was said, and that session's file."""
    first = start()
    exchange(first, fake_llm, "the first words", "The first answer.")
    [path] = files_of(project)
    return first, path


def option(terminal: Terminal, words: str) -> None:
    """Takes the option of these words by its number."""
    terminal.wait_for_screen(words)
    line = next(line for line in terminal.lines() if words in line)
    terminal.send(line.split(".")[0].strip(" ❯"))


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
def test_a_second_window_reads_and_then_forks(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    first, path = opened(start, fake_llm, project)
    second = start("-r", path.parent.name, rows=rows, columns=columns)
    second.wait_for_screen(f"{BUSY} {first.pid}, since")
    option(second, "View it")
    second.wait_for_screen("The first answer.")
    second.wait_for_screen("q leaves")
    second.send("q")
    second.wait_gone("q leaves")
    second.wait_for_screen(BUSY)
    option(second, "Continue in a fork")
    ready(second)
    second.wait_for("The first answer.")
    exchange(second, fake_llm, "in the fork", "Forked.")
    assert "the first words" in sent(fake_llm)
    exchange(first, fake_llm, "in the old one", "Still here.")
    assert "in the fork" not in sent(fake_llm)
    assert len(files_of(project)) == 2
    for file in files_of(project):
        assert records(file)
    no_traceback(second)


def test_who_waits_gets_it_when_the_other_window_is_closed(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    first, path = opened(start, fake_llm, project)
    second = start("-c")
    second.wait_for_screen(BUSY)
    option(second, "until the other window lets go of it")
    second.wait_for_screen("esc stops waiting")
    second.send("\x1b")
    second.wait_for_screen(BUSY)
    option(second, "until the other window lets go of it")
    second.wait_for_screen("esc stops waiting")
    exchange(first, fake_llm, "one more", "The last answer.")
    leave(first)
    second.wait_for("The last answer.")
    ready(second)
    assert "esc stops waiting" not in "\n".join(second.lines())
    exchange(second, fake_llm, "and on", "Taken over.")
    assert "one more" in sent(fake_llm)
    assert files_of(project) == [path]


@pytest.mark.parametrize("key", ["\x1b", "4"])
def test_who_leaves_it_is_told_what_else_there_is(
    start: Start, fake_llm: FakeLLM, project: Path, key: str
) -> None:
    _, path = opened(start, fake_llm, project)
    second = start("-r", path.parent.name)
    second.wait_for_screen(BUSY)
    second.send(key)
    assert second.wait_exit() == 1
    assert "--fork-session" in "\n".join(second.history())


def test_resume_within_a_session_asks_the_same(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    _, path = opened(start, fake_llm, project)
    second = start()
    exchange(second, fake_llm, "something else", "Else.")
    ask(second, f"/resume {path.parent.name}")
    second.wait_for_screen(BUSY)
    second.send("\x1b")
    second.wait_gone(BUSY)
    exchange(second, fake_llm, "still here?", "Still here.")
    assert "something else" in sent(fake_llm)
    ask(second, f"/resume {path.parent.name}")
    second.wait_for_screen(BUSY)
    option(second, "until the other window lets go of it")
    second.wait_for_screen("esc stops waiting")
    second.send("\x1b")
    second.wait_for_screen(BUSY)
    option(second, "Continue in a fork")
    second.wait_for(f"a fork of {path.parent.name}: ")
    ready(second)
    exchange(second, fake_llm, "in the fork", "Forked.")
    assert "the first words" in sent(fake_llm)
    assert "something else" not in sent(fake_llm)
    assert "in the fork" not in path.read_text()
    no_traceback(second)


def test_in_plain_lines_it_is_a_number(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    first, path = opened(start, fake_llm, project)
    argv = [*PROGRAM, "--model", MODEL, "--plain", "-r", path.parent.name]
    with Terminal(argv, cwd=project, env=environment(home, anthropic=fake_llm.url)) as second:
        second.wait_for(BUSY)
        second.wait_for("Type a number from 1 to 4")
        second.send("1\r")
        second.wait_for("The first answer.")
        second.wait_until(lambda: second.raw.count(b"Type a number") == 2, "the question again")
        second.send("3\r")
        second.wait_for("Ctrl-C stops waiting")
        second.send("\x03")
        second.wait_until(lambda: second.raw.count(b"Type a number") == 3, "the question again")
        second.send("3\r")
        leave(first)
        second.wait_until(lambda: second.raw.endswith(b"\n> "), "the prompt")
        fake_llm.script(Reply.text("Taken over."))
        second.send("and on\r")
        second.wait_for("Taken over.")
        assert "the first words" in sent(fake_llm)
        second.wait_until(lambda: second.raw.endswith(b"\n> "), "the prompt")
        second.send("\x04")
        assert second.wait_exit() == 0
        assert b"\x1b" not in second.raw
