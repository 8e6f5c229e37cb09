"""The real program in a terminal that changes, closes or interrupts at every stage."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from mewcode.sessions.lock import SessionLock
from tests.support.adverse import (
    HELD,
    Start,
    ask,
    files_of,
    headless,
    leave,
    no_traceback,
    ready,
    records,
    screen,
)
from tests.support.fake_llm import FakeLLM, Gate, Reply
from tests.support.terminal import Terminal
from tests.support.witness import Witness

CTRL_C = "\x03"


def goes_on(terminal: Terminal, fake_llm: FakeLLM) -> None:
    """The prompt is back and works; then the program leaves cleanly."""
    fake_llm.script(Reply.text("Here again."))
    ask(terminal, "go on")
    terminal.wait_for("Here again.")
    leave(terminal)
    no_traceback(terminal)


# Ctrl-C at every stage.


def test_ctrl_c_while_the_session_opens(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("One."))
    assert headless(["first"], project, home, fake_llm.url).code == 0
    lock = SessionLock.take(files_of(project)[0].parent, since=0.0)
    terminal = start("-c")
    terminal.wait_for_screen("starting…")
    terminal.send("early")
    terminal.wait_for_screen("early")
    terminal.send(CTRL_C)
    terminal.wait_gone("early")
    terminal.send(CTRL_C)
    terminal.wait_for("again to leave")
    terminal.send(CTRL_C * 2)
    assert terminal.wait_exit() == 0
    no_traceback(terminal)
    lock.release()


def test_ctrl_c_in_the_list_of_sessions(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("One."))
    assert headless(["first"], project, home, fake_llm.url).code == 0
    terminal = start("-r")
    terminal.wait_for_screen("resume which session?")
    terminal.send(CTRL_C)
    assert terminal.wait_exit() == 1
    no_traceback(terminal)
    terminal.wait_for("no session was chosen")


def test_ctrl_c_ahead_of_the_first_byte(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.stall("silent"))
    terminal = start()
    ask(terminal, "hello")
    fake_llm.wait_gate_reached("silent")
    terminal.send(CTRL_C)
    terminal.wait_for("interrupted")
    fake_llm.release("silent")
    goes_on(terminal, fake_llm)


def test_ctrl_c_at_an_approval(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(Reply.calls(("bash", {"command": "touch no"}), ("bash", {"command": "touch no2"})))
    terminal = start()
    ask(terminal, "touch")
    terminal.wait_for_screen("Allow bash?")
    terminal.send(CTRL_C)
    ready(terminal)
    assert not (project / "no").exists()
    goes_on(terminal, fake_llm)


def test_ctrl_c_while_words_for_an_approval_are_typed(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(Reply.calls(("bash", {"command": "touch no"})))
    terminal = start()
    ask(terminal, "touch")
    terminal.wait_for_screen("No, and say why")
    number = next(line for line in terminal.lines() if "No, and say why" in line).split(".")[0].strip(" ❯")
    terminal.send(number)
    terminal.wait_for_screen("type your words")
    terminal.send("because" + CTRL_C)
    terminal.wait_gone("type your words")
    ready(terminal)
    assert not (project / "no").exists()
    goes_on(terminal, fake_llm)


def test_ctrl_c_at_a_question(start: Start, fake_llm: FakeLLM) -> None:
    choices = [{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "description": "a server"}]
    question = {"question": "Which database?", "choices": choices}
    fake_llm.script(Reply.calls(("ask_user", question)))
    terminal = start()
    ask(terminal, "set up")
    terminal.wait_for_screen("Which database?")
    terminal.send(CTRL_C)
    terminal.wait_for("interrupted")
    goes_on(terminal, fake_llm)


def test_ctrl_c_in_the_countdown_of_a_retry(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.error(529, retry_after=200))
    terminal = start()
    ask(terminal, "hello")
    terminal.wait_for_screen("attempt 2 of 8 in")
    terminal.send(CTRL_C)
    terminal.wait_for("interrupted")
    goes_on(terminal, fake_llm)


def test_ctrl_c_in_a_command_that_waits(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.routes["/v1/models"] = Reply.stall("models")
    terminal = start()
    ask(terminal, "/model")
    fake_llm.wait_gate_reached("models")
    terminal.send(CTRL_C)
    terminal.wait_for("interrupted")
    fake_llm.release("models")
    goes_on(terminal, fake_llm)


def test_ctrl_c_in_a_choice(start: Start, fake_llm: FakeLLM) -> None:
    terminal = start()
    ask(terminal, "/mode")
    terminal.wait_for_screen("permission mode")
    terminal.send(CTRL_C)
    terminal.wait_gone("permission mode")
    goes_on(terminal, fake_llm)


def test_ctrl_c_with_the_same_key_press_as_the_prompt(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.default = Reply.text("Too fast.")
    terminal = start()
    ready(terminal)
    terminal.send("hello\r" + CTRL_C * 2)
    terminal.wait_for("interrupted")
    ready(terminal)
    fake_llm.default = None
    goes_on(terminal, fake_llm)


def test_ctrl_c_in_a_tool_that_will_not_end(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    witness = Witness(project / "witness")
    stubborn = "trap '' INT TERM HUP; exec 3> witness; echo star''ted; while true; do sleep 1000; done"
    fake_llm.script(Reply.calls(("bash", {"command": stubborn})))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "wait")
    terminal.wait_for("started")
    terminal.send(CTRL_C)
    assert witness.all_gone()
    witness.close()
    goes_on(terminal, fake_llm)


# Ends.


def test_a_closed_terminal_saves_and_ends_children(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    witness, gate = Witness(project / "witness"), project / "gate"
    os.mkfifo(gate)
    fake_llm.script(Reply.calls(("bash", {"command": HELD})))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "wait")
    terminal.wait_for("started")
    terminal.hang_up()
    assert terminal.wait_exit() == 130
    assert witness.all_gone()
    witness.close()
    results = [record for record in records(files_of(project)[0]) if record.get("role") == "tool"]
    assert "interrupted by the user" in json.dumps(results)
    fake_llm.script(Reply.text("Welcome back."))
    assert headless(["-c", "I am back"], project, home, fake_llm.url)[:2] == (0, "Welcome back.\n")


@pytest.mark.parametrize("way", ["/exit\r", "\x04", "hangup"])
def test_leaving_ends_what_runs_in_the_background(
    start: Start, fake_llm: FakeLLM, project: Path, way: str
) -> None:
    witness, gate = Witness(project / "witness"), project / "gate"
    os.mkfifo(gate)
    fake_llm.script(Reply.calls(("bash", {"command": HELD, "background": True})), Reply.text("It runs."))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "start the server")
    terminal.wait_for("It runs.")
    ready(terminal)
    assert witness.alive()
    if way == "hangup":
        terminal.hang_up()
        assert terminal.wait_exit() == 130
    else:
        terminal.send(way)
        assert terminal.wait_exit() == 0
        no_traceback(terminal)
    assert witness.all_gone()
    witness.close()


# A terminal that changes.

SIZES = [(50, 200), (24, 80), (40, 120), (24, 80), (50, 200), (24, 80)]


def test_a_resize_in_the_middle_of_an_answer_loses_no_line(start: Start, fake_llm: FakeLLM) -> None:
    parts: list[str | Gate] = []
    for number in range(len(SIZES)):
        lines = "".join(f"- part {number} line {line} of the answer\n" for line in range(12))
        parts += [lines, Gate(f"size {number}")]
    fake_llm.script(Reply.text([*parts, "- the last line\n"]))
    terminal = start()
    ask(terminal, "tell me much")
    for number, (rows, columns) in enumerate(SIZES):
        terminal.wait_for(f"part {number} line 10 of the answer")
        terminal.resize(rows, columns)
        terminal.send(f"<{number}")
        terminal.wait_for_screen(f"<{number}")
        fake_llm.release(f"size {number}")
    terminal.wait_for("the last line")
    ready(terminal)
    shown = "\n".join(terminal.history())
    for number in range(len(SIZES)):
        for line in range(12):
            assert f"part {number} line {line} of the answer" in shown
    assert "".join(f"<{number}" for number in range(len(SIZES))) in screen(terminal)
    terminal.send(CTRL_C)
    goes_on(terminal, fake_llm)


def test_a_terminal_of_a_few_cells(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(
        Reply.text(["# Head\n\n" + "word " * 50, Gate("small"), "\n\n| a | b |\n|-|-|\n| 1 | 2 |\n"])
    )
    terminal = start()
    ask(terminal, "hello")
    terminal.wait_for("word")
    terminal.resize(3, 10)
    terminal.send("x")
    fake_llm.release("small")
    terminal.resize(24, 80)
    ready(terminal)
    terminal.wait_for_screen("❯ x")
    terminal.send(CTRL_C)
    goes_on(terminal, fake_llm)


def test_typing_while_an_answer_streams_loses_no_key(start: Start, fake_llm: FakeLLM) -> None:
    pieces: list[str | Gate] = []
    for number in range(40):
        pieces += ["".join(f"- line {number}.{line}\n" for line in range(5)), Gate(f"key {number}")]
    fake_llm.script(Reply.text([*pieces, "That was all."]), Reply.text("Got it."))
    terminal = start()
    ask(terminal, "tell me much")
    typed = ""
    for number in range(40):
        keys = f"k{number} 键{number % 10} "
        fake_llm.wait_gate_reached(f"key {number}")
        terminal.send(keys)
        typed += keys
        fake_llm.release(f"key {number}")
    terminal.wait_for("That was all.")
    ask(terminal, "end")
    terminal.wait_for("Got it.")
    assert fake_llm.generations[1].messages[-1]["content"][0]["text"] == typed + "end"
    leave(terminal)


# No terminal to speak of.


def test_a_dumb_terminal_gets_plain_text(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("# Head\n\n**bold** and `code`"))
    terminal = start("hello", TERM="dumb")
    assert terminal.wait_exit() == 0
    assert "**bold** and `code`" in "\n".join(terminal.history())
    assert b"\x1b" not in terminal.raw


@pytest.mark.parametrize("arguments", [[], ["--output-format", "json"], ["--output-format", "stream-json"]])
def test_output_to_a_file_has_no_escape_codes(
    fake_llm: FakeLLM, project: Path, home: Path, arguments: list[str]
) -> None:
    fake_llm.script(Reply.calls(("list_dir", {"path": "."})), Reply.text("# Head\n\n**bold** and `code`"))
    done = headless([*arguments, "hello"], project, home, fake_llm.url, TERM="xterm-256color")
    assert done.code == 0
    assert "**bold** and `code`" in done.out
    assert "\x1b" not in done.out + done.err


def test_without_colours_nothing_is_coloured(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.calls(("bash", {"command": "touch a"})), Reply.text("# Head\n\n```py\nx = 1\n```"))
    terminal = start(NO_COLOR="1")
    ask(terminal, "go")
    terminal.wait_for_screen("Allow bash?")
    terminal.send("1")
    terminal.wait_for("x = 1")
    leave(terminal)
    numbers = {
        int(number)
        for codes in re.findall(rb"\x1b\[([0-9;]*)m", terminal.raw)
        for number in codes.split(b";")
        if number
    }
    assert numbers <= {*range(10), *range(20, 30)}  # bold, dim and the like
