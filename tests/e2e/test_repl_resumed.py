"""A session that is continued: its end as it looked; a summary or an export that takes long is stopped."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, files_of, leave, no_traceback, ready, screen
from tests.support.archive import head, make_session, said
from tests.support.fake_llm import FakeLLM, Gate, RecordedRequest, Reply, Usage
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal

SIZES = pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
TOO_LONG = "the session is longer than the window: compacting"
LONG = "word 字 " * 700


def window(home: Path, tokens: int) -> None:
    folder = home / ".mewcode"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(
        f"models:\n  {MODEL}:\n    context_window: {tokens}\n    max_output: 1000\n"
        "sessions:\n  titles: false\n  briefs: false\n"
    )


@pytest.fixture
def long_session(start: Start, fake_llm: FakeLLM, home: Path, project: Path) -> str:
    """The id of a session that does not fit the window any more; what is asked for a summary waits."""
    window(home, 60_000)
    replies = [Reply.text(f"{LONG}\nAnswer {number}.") for number in range(8)]

    def rule(request: RecordedRequest) -> Reply:
        return dataclasses.replace(replies.pop(0), usage=Usage(len(request.body) // 3, 500))

    fake_llm.respond_with(rule)
    terminal = start()
    for number in range(8):
        ask(terminal, f"question {number}")
        terminal.wait_for(f"Answer {number}.")
    leave(terminal)
    window(home, 24_000)
    fake_llm.aside = Reply.text(["## Goal\n", Gate("summary"), "- never said"])
    return files_of(project)[0].parent.name


def goes_on(terminal: Terminal, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("On we go."))
    terminal.send("and now?\r")
    terminal.wait_for("On we go.")
    sent = json.dumps(fake_llm.generations[-1].messages, ensure_ascii=False)
    assert "question 7" in sent
    assert "never said" not in sent
    assert '"Answer 0."' not in sent


@SIZES
def test_a_summary_on_the_way_into_a_session_is_stopped(
    start: Start, fake_llm: FakeLLM, long_session: str, rows: int, columns: int
) -> None:
    terminal = start(rows=rows, columns=columns)
    ask(terminal, f"/resume {long_session}")
    terminal.wait_for_screen(TOO_LONG)
    terminal.send("\x1b")
    terminal.wait_for("resumed: question 0")
    terminal.wait_for_screen("Answer 7.")
    ready(terminal)
    text = " ".join(" ".join(terminal.history()).split())
    assert "left out of what the model sees: its window is too small for all" in text
    assert "interrupted" not in text
    goes_on(terminal, fake_llm)
    no_traceback(terminal)


def test_in_plain_lines_ctrl_c_stops_it(
    fake_llm: FakeLLM, project: Path, home: Path, long_session: str
) -> None:
    argv = [*PROGRAM, "--model", MODEL, "--plain"]
    with Terminal(argv, cwd=project, env=environment(home, anthropic=fake_llm.url)) as terminal:
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
        terminal.send(f"/resume {long_session}\r")
        terminal.wait_for("Ctrl-C stops it")
        terminal.send("\x03")
        terminal.wait_for("resumed: question 0")
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
        goes_on(terminal, fake_llm)
        no_traceback(terminal)


@SIZES
def test_changes_and_commands_look_as_they_did(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    (project / "a.py").write_text("one\ntwo\nthree\n")
    edits = [{"old_text": "two\nthree", "new_text": "zwei\nthree"}]
    fake_llm.script(
        Reply.calls(("read_file", {"path": "a.py"})),
        Reply.calls(("edit_file", {"path": "a.py", "edits": edits})),
        Reply.calls(("bash", {"command": "seq 90 110; exit 3"})),
        Reply.text("Done."),
    )
    wanted = (
        "● edit_file(a.py)",
        "└ +1 -1",
        "-two",
        "+zwei",
        "● bash(seq 90 110",
        "exit 3 · 21 lines",
        "110",
    )
    first = start("--permission-mode", "bypass", rows=rows, columns=columns)
    ask(first, "change it")
    first.wait_for("Done.")
    live = "\n".join(first.history())
    assert all(words in live for words in wanted)
    leave(first)
    terminal = start("-c", rows=rows, columns=columns)
    terminal.wait_for("Done.")
    ready(terminal)
    again = "\n".join(terminal.history())
    for words in wanted:
        assert words in again, words
    # But for the line of context before it, the change stands there as it did.
    lines = [line.rstrip() for line in first.history()]
    [changed] = [place for place, line in enumerate(lines) if "+zwei" in line]
    for line in lines[changed - 1 : changed + 2]:
        assert line in [other.rstrip() for other in terminal.history()]


def test_an_export_says_what_it_does_and_is_stopped(start: Start, project: Path, home: Path) -> None:
    window(home, 60_000)
    name = "20260101-100000-aaaa"
    # What is blacked out is looked for in all of it: that takes seconds.
    body = [said(f"u{number}", "the words 字 of a long talk. " * 400) for number in range(3_000)]
    make_session(project / ".mewcode/sessions", name, head(name), *body)
    terminal = start("-r", name, "--trust")
    terminal.wait_for("resumed: ")
    ready(terminal)
    terminal.send("/export talk.html\r")
    terminal.wait_for_screen("exporting")
    terminal.wait_for_screen("esc to stop")
    terminal.send("\x1b")
    terminal.wait_for("interrupted")
    terminal.wait_gone("esc to stop")
    assert "written to" not in screen(terminal)
    assert not list(project.glob("*talk*"))
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    assert not list(project.glob("*talk*"))
