"""Keys and signals at moments when something else has the terminal, or asks."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, files_of, leave, no_traceback, ready
from tests.support.fake_llm import FakeLLM, Gate, Reply, ToolCall, text
from tests.support.program import PROGRAM

# What a program must have taken back when it ends, by what it set before.
GIVEN_BACK = [
    (b"\x1b[?1049h", b"\x1b[?1049l"),
    (b"\x1b[?2004h", b"\x1b[?2004l"),
    (b"\x1b[?1004h", b"\x1b[?1004l"),
    (b"\x1b[?25l", b"\x1b[?25h"),
    (b"\x1b[?7l", b"\x1b[?7h"),
    (b"\x1b[22;2t", b"\x1b[23;2t"),
]

ASKS = ("bash", {"command": "touch made"})
BODY = "\n".join(f"pasted {number}" for number in range(20))
PASTED = f"\x1b[200~{BODY}\x1b[201~"


def editor(project: Path, script: str) -> dict[str, str]:
    program = project / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"EDITOR": str(program)}


def number_of(lines: list[str], option: str) -> str:
    return next(line for line in lines if option in line).split(".")[0].strip(" ❯")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_pager_gives_the_terminal_back(
    start: Start, fake_llm: FakeLLM, number: signal.Signals
) -> None:
    fake_llm.script(Reply.text("Hello."))
    terminal = start()
    ask(terminal, "hi")
    terminal.wait_for("Hello.")
    ready(terminal)
    terminal.send("\x0f")
    terminal.wait_for_screen("q leaves")
    os.kill(terminal.pid, number)
    assert terminal.wait_exit() == 130
    for taken, given in GIVEN_BACK:
        assert terminal.raw.rindex(given) > terminal.raw.rindex(taken)
    no_traceback(terminal)


def test_a_signal_while_the_editor_is_open_ends_both(start: Start, project: Path) -> None:
    terminal = start(**editor(project, "echo editing $$; exec sleep 1000"))
    ready(terminal)
    terminal.send("\x18\x05")
    terminal.wait_for_screen("editing ")
    program = next(int(line.split()[1]) for line in terminal.lines() if line.startswith("editing "))
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait_exit() == 130
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)
    no_traceback(terminal)


def test_what_was_written_in_the_editor_survives_a_question(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.script(Reply.of(text(["Look. ", Gate("go")]), ToolCall(*ASKS)), Reply.text("Done."))
    terminal = start(
        **editor(project, 'echo editing; until [ -e gate ]; do sleep 0.1; done; echo edited > "$1"')
    )
    ask(terminal, "touch it")
    terminal.wait_for("Look.")
    terminal.send("draft\x18\x05")
    terminal.wait_for_screen("editing")
    fake_llm.release("go")
    terminal.wait_until(lambda: any(b"touch made" in path.read_bytes() for path in files_of(project)), "it")
    (project / "gate").touch()
    terminal.wait_for_screen("Allow bash?")
    assert "edited" not in "\n".join(terminal.lines())
    terminal.send("\x1b")
    terminal.wait_for_screen("❯ edited")
    assert not (project / "made").exists()
    terminal.send("\x03")
    leave(terminal)


def test_a_search_that_a_question_interrupts_takes_none_of_its_keys(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(
        Reply.text("First."), Reply.of(text(["Look. ", Gate("go")]), ToolCall(*ASKS)), Reply.text("I see.")
    )
    terminal = start()
    ask(terminal, "an earlier input")
    terminal.wait_for("First.")
    ask(terminal, "touch it")
    terminal.wait_for("Look.")
    terminal.send("\x12earl")
    terminal.wait_for_screen("earlier input with: earl")
    fake_llm.release("go")
    terminal.wait_for_screen("No, and say why")
    assert "earlier input with" not in "\n".join(terminal.lines())
    number = number_of(terminal.lines(), "No, and say why")
    # What was being typed is no answer for a second; then it is.
    while "type your words" not in "\n".join(terminal.lines()):
        seen = len(terminal.raw)
        terminal.send(number)
        terminal.wait_until(lambda seen=seen: len(terminal.raw) > seen, "a drawing")
    terminal.send("because\r")
    terminal.wait_for("I see.")
    assert "because" in json.dumps(fake_llm.generations[-1].messages)
    terminal.wait_for_screen("❯ an earlier input")
    terminal.send("\x03")
    leave(terminal)


def test_words_typed_into_a_question_choose_nothing(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(Reply.calls(ASKS))
    terminal = start()
    ask(terminal, "touch it")
    terminal.wait_for_screen("Allow bash?")
    terminal.send("/btw is 1 enough?\r")
    terminal.send("\x1b")
    terminal.wait_for("denied")
    assert not (project / "made").exists()
    leave(terminal)


@pytest.mark.parametrize("rows", [5, 8, 24])
def test_the_selected_option_is_seen_on_a_low_screen(start: Start, fake_llm: FakeLLM, rows: int) -> None:
    fake_llm.script(Reply.calls(ASKS))
    terminal = start(rows=rows, columns=60)
    ask(terminal, "touch it")
    terminal.wait_for_screen("Allow bash?")
    terminal.send("\x1b[A")
    terminal.wait_until(lambda: any(re.search("❯.*say w", line) for line in terminal.lines()), "the last one")
    terminal.send("\x1b")
    terminal.wait_gone("Allow bash?")
    leave(terminal)


def test_what_returns_to_the_input_stands_on_lines_of_its_own(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["One. ", Gate("on")]))
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("One.")
    terminal.send("first\r")
    terminal.wait_for_screen("queued: first")
    terminal.send("second\r")
    terminal.wait_for_screen("queued: second")
    terminal.send("draft\x1b[1;3A")
    terminal.wait_gone("queued: second")
    terminal.send("\x1b")
    ready(terminal)
    fake_llm.release("on")
    fake_llm.script(Reply.text("Read."))
    terminal.send("\r")
    terminal.wait_for("Read.")
    said = [part["text"] for part in fake_llm.generations[-1].messages[-1]["content"]]
    assert "draft\nsecond\nfirst" in said
    leave(terminal)


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ("\x1bbX", f"X{BODY}"),  # Alt-B goes back by a word
        ("y\x17", "none"),  # Ctrl-W deletes one
        ("\x1b\x7f", "none"),  # Alt-Backspace
        ("\x01\x1bd", "none"),  # Ctrl-A, Alt-D
        ("\x01\x1bfX", f"{BODY}X"),  # Alt-F goes on by a word
        ("\x17\x1f", BODY),  # Ctrl-_ undoes
    ],
)
def test_a_folded_paste_stays_whole(start: Start, fake_llm: FakeLLM, keys: str, sent: str) -> None:
    fake_llm.script(Reply.text("Got it."))
    terminal = start()
    ready(terminal)
    terminal.send(PASTED)
    terminal.wait_for_screen("[paste 1: 20 lines]")
    terminal.send(keys)
    if sent == "none":
        terminal.wait_gone("lines]")
        terminal.send("none")
    terminal.send("\r")
    terminal.wait_for("Got it.")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == sent
    leave(terminal)


def test_ctrl_z_and_fg(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Hello."))
    command = shlex.join([*PROGRAM, "--model", MODEL])
    terminal = start(before=lambda _: ["bash", "--norc", "--noprofile", "-i"])
    terminal.send(f"PS1='shell> '; {command}\r")
    ready(terminal)
    terminal.send("half a")
    terminal.wait_for_screen("❯ half a")
    terminal.send("\x1a")
    terminal.wait_for("Stopped")
    assert terminal.raw.rindex(b"\x1b[?2004l") < terminal.raw.rindex(b"Stopped")
    terminal.send("fg\r")
    terminal.wait_for_screen("❯ half a")
    ready(terminal)
    terminal.send(" word\r")
    terminal.wait_for("Hello.")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == "half a word"
    ready(terminal)
    terminal.send("\x04")
    terminal.wait_until(lambda: b"\x1b[23;2t" in terminal.raw, "the end")
