"""The real program against sizes: whole with MEWCODE_SOAK=1, else a tenth of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.adverse import FULL_SIZE, Start, ask, files_of, headless, kill, leave, ready, records
from tests.support.fake_llm import FakeLLM, Gate, Reply, markdown

MEGABYTE = 1 << 20
SCALE = 10 if FULL_SIZE else 1

# Bytes. What the program itself takes, and room for one copy or two of what it may keep.
MEMORY = 300 * MEGABYTE

pytestmark = pytest.mark.soak


def test_a_file_of_a_gigabyte(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    size = 100 * SCALE * MEGABYTE
    with (project / "log").open("wb") as stream:
        stream.write(b"a line of text\n" * 1000)
        stream.truncate(size)  # the rest is a hole
    fake_llm.script(
        Reply.calls(("read_file", {"path": "log", "limit": 5})),
        Reply.calls(("read_file", {"path": "log", "offset": 999})),
        Reply.calls(("read_file", {"path": "log", "offset": 5000})),
        Reply.text("It is large."),
    )
    done = headless(["look"], project, home, fake_llm.url)
    assert (done.code, done.out) == (0, "It is large.\n")
    assert done.peak < MEMORY
    results = json.dumps(fake_llm.generations[-1].messages)
    assert len(results) < MEGABYTE
    assert "a line of text" in results
    assert "no line 5,000" in results
    # ripgrep maps the file, which counts as memory although it is the file's.
    search = {"pattern": "text", "path": "log", "output_mode": "count"}
    fake_llm.script(Reply.calls(("grep", search)), Reply.text("Searched."))
    assert headless(["search"], project, home, fake_llm.url)[:2] == (0, "Searched.\n")


def test_a_command_that_prints_a_hundred_megabytes(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    lines = 1_000_000 * SCALE  # of ten bytes
    flood = f"head -c {lines * 10} /dev/zero | tr '\\0' 'x' | fold -w 9; echo the end"
    fake_llm.script(Reply.calls(("bash", {"command": flood})), Reply.text("It was much."))
    done = headless(["flood", "--permission-mode", "bypass"], project, home, fake_llm.url)
    assert (done.code, done.out) == (0, "It was much.\n")
    assert done.peak < MEMORY
    sent = json.dumps(fake_llm.generations[-1].messages)
    assert len(sent) < MEGABYTE
    assert "the end" in sent
    fake_llm.script(Reply.calls(("bash", {"command": flood})), Reply.text("Again."))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "flood")
    terminal.wait_for("Again.")
    leave(terminal)
    assert len(terminal.raw) < MEGABYTE


def test_a_prompt_of_a_megabyte(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    text = "".join(f"{number} 行文字 line\n" for number in range(52_000))
    piped = text.encode()
    assert len(piped) > MEGABYTE
    fake_llm.script(Reply.text("Much to read."), Reply.text("Still here."))
    done = headless(["Explain:"], project, home, fake_llm.url, stdin=piped)
    assert (done.code, done.out) == (0, "Much to read.\n")
    asked = fake_llm.generations[0].messages[0]["content"][0]["text"]
    assert asked == f"Explain:\n\n{text.rstrip()}"
    assert headless(["-c", "and?"], project, home, fake_llm.url).code == 0
    assert fake_llm.generations[1].messages[0]["content"][0]["text"] == asked


def test_killed_again_and_again(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    rounds = 2 * SCALE
    for number in range(rounds):
        fake_llm.script(
            Reply.calls(("list_dir", {"path": "."})),
            Reply.text([f"Answer {number} begins. ", Gate(f"round {number}"), "It ends."]),
        )
        terminal = start(*["-c"] * bool(number))
        ask(terminal, f"question {number}")
        terminal.wait_for(f"Answer {number} begins.")
        kill(terminal)
        fake_llm.release(f"round {number}")
    said = [record["content"] for record in records(files_of(project)[0]) if record.get("role") == "user"]
    assert said == [f"question {number}" for number in range(rounds)]


def test_a_long_answer_under_resizes_and_typing(start: Start, fake_llm: FakeLLM) -> None:
    text = markdown(20 * SCALE)  # kilobytes
    size = len(text) // (6 * SCALE)
    pieces: list[str | Gate] = []
    for number, place in enumerate(range(0, len(text), size)):
        pieces += [text[place : place + size], Gate(f"piece {number}")]
    fake_llm.script(Reply.text([*pieces, "\n\nThat was all."]), Reply.text("Got it."))
    terminal = start()
    ask(terminal, "tell me")
    for number in range(len(pieces) // 2):
        fake_llm.wait_gate_reached(f"piece {number}", timeout=20)
        terminal.resize(*((24, 80), (50, 200))[number % 2])
        terminal.send("x")
        fake_llm.release(f"piece {number}")
    terminal.wait_for("That was all.")
    ready(terminal)
    terminal.send("\r")
    terminal.wait_for("Got it.")
    assert fake_llm.generations[1].messages[-1]["content"][0]["text"] == "x" * (len(pieces) // 2)
    leave(terminal)
