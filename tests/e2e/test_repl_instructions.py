"""Project instructions in the terminal: seen, approved, read again, written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, leave, no_traceback, ready, screen
from tests.support.fake_llm import FakeLLM, Gate, RecordedRequest, Reply
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal

SIZES = [(24, 80), (50, 200)]
CANARY = "CANARY-4242 金丝雀"
READ = ("read_file", {"path": "lib/x.py"})
SYSTEM = "system"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def system(request: RecordedRequest) -> str:
    return json.dumps(request.payload[SYSTEM], ensure_ascii=False)


def said(request: RecordedRequest) -> str:
    return json.dumps(request.messages, ensure_ascii=False)


def shown(terminal: Terminal) -> str:
    return "\n".join(terminal.history())


def turn(terminal: Terminal, fake_llm: FakeLLM, prompt: str, answer: str) -> RecordedRequest:
    """A message and its answer; the last request of it."""
    fake_llm.script(Reply.text(answer))
    ask(terminal, prompt)
    terminal.wait_for(answer)
    ready(terminal)
    return fake_llm.generations[-1]


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_the_tree_is_shown_with_skips_and_findings(
    start: Start, project: Path, rows: int, columns: int
) -> None:
    long = "深/" + "long-name-" * 12 + "规.md"
    write(
        project / "MEWCODE.md", f"# 规则\n@include a.md\n@include {long}\n@include none.md\nSee `no/x.py`.\n"
    )
    write(project / "a.md", "A 风格\n")
    write(project / long, "LONG\n")
    terminal = start(rows=rows, columns=columns)
    ask(terminal, "/instructions")
    terminal.wait_for("missing file: no/x.py")
    text = shown(terminal)
    assert "instructions · 1 left out" in text
    assert "MEWCODE.md  project, " in text
    assert "  a.md  project, " in text
    assert "! none.md  (line 4) skipped: not found" in text
    assert "3 files, " in text
    ready(terminal)
    no_traceback(terminal)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_an_include_from_outside_stays_out_until_it_is_approved(
    start: Start, fake_llm: FakeLLM, project: Path, tmp_path: Path, rows: int, columns: int
) -> None:
    outside = write(
        tmp_path / "x.md", CANARY + "\n" + "\n".join(f"rule {number}" for number in range(20)) + "\n"
    )
    write(project / "MEWCODE.md", "Ours.\n@include ../x.md\n")
    terminal = start(rows=rows, columns=columns)
    terminal.wait_for("MEWCODE.md includes ../x.md from outside the project")
    terminal.wait_for("/instructions lets you approve it")
    assert "❯" in screen(terminal)
    first = turn(terminal, fake_llm, "one", "First.")
    assert CANARY not in first.body.decode()
    ask(terminal, "/instructions")
    terminal.wait_for_screen("Approve it?")
    terminal.wait_for_screen("❯ 1. Approve it")
    panel = " ".join(screen(terminal).split())  # a long path takes more than one row
    assert f"{outside.stat().st_size:,} bytes" in panel
    assert "CANARY-4242" in panel
    assert "… 17 more lines" in panel
    terminal.send("3")
    terminal.wait_for("left out")
    assert CANARY not in turn(terminal, fake_llm, "two", "Second.").body.decode()
    ask(terminal, "/instructions")
    terminal.wait_for_screen("❯ 1. Approve it")
    terminal.send("\r")
    terminal.wait_for("approved:")
    third = turn(terminal, fake_llm, "three", "Third.")
    assert system(third).count(CANARY) == 1
    leave(terminal)
    # Kept for this file and this content.
    terminal = start(rows=rows, columns=columns)
    fourth = turn(terminal, fake_llm, "four", "Fourth.")
    assert CANARY in system(fourth)
    assert "from outside" not in shown(terminal)
    leave(terminal)
    write(outside, "changed " + CANARY)
    terminal = start(rows=rows, columns=columns)
    terminal.wait_for("from outside the project")
    assert CANARY not in turn(terminal, fake_llm, "five", "Fifth.").body.decode()
    no_traceback(terminal)


def test_what_would_be_included_is_shown_in_safe_text(start: Start, project: Path, tmp_path: Path) -> None:
    write(tmp_path / "x.md", "first\x1b]0;owned\x07\x1b[2J line\n[red]second[/]\n" + "more\n" * 20)
    write(project / "MEWCODE.md", "@include ../x.md\n")
    terminal = start()
    ask(terminal, "/instructions")
    terminal.wait_for_screen("Approve it?")
    terminal.send("2")
    terminal.wait_for("[red]second[/]")
    terminal.wait_for_screen("Approve it?")
    assert b"\x1b]0;owned" not in terminal.raw
    terminal.send("\x1b")
    terminal.wait_gone("Approve it?")
    ready(terminal)
    no_traceback(terminal)


def test_the_report_comes_beside_a_turn_and_asks_nothing_then(
    start: Start, fake_llm: FakeLLM, project: Path, tmp_path: Path
) -> None:
    write(tmp_path / "x.md", CANARY)
    write(project / "MEWCODE.md", "@include ../x.md\n")
    fake_llm.script(Reply.text(["Begun. \n\n", Gate("middle"), "Ended."]))
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("Begun.")
    terminal.send("/instructions\r")
    terminal.wait_for("instructions · 1 left out")
    terminal.send("/reload\r")
    terminal.wait_for_screen("queued: /reload")
    assert "Approve it?" not in screen(terminal)
    fake_llm.release("middle")
    terminal.wait_for("instructions read again: nothing changed")
    ready(terminal)


def test_a_change_between_messages_comes_as_a_difference_and_the_prompt_stays(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    path = write(project / "MEWCODE.md", "用制表符 tabs\nkept\n")
    terminal = start()
    first = turn(terminal, fake_llm, "one", "First.")
    write(path, "用空格 spaces\nkept\n")
    second = turn(terminal, fake_llm, "two", "Second.")
    third = turn(terminal, fake_llm, "three", "Third.")
    for request in (second, third):
        assert request.payload[SYSTEM] == first.payload[SYSTEM]
        assert said(request).count("-用制表符 tabs\\n+用空格 spaces") == 1
    ask(terminal, "/reload")
    terminal.wait_for("instructions read again: 1 changed")
    fourth = turn(terminal, fake_llm, "four", "Fourth.")
    assert "用空格 spaces" in system(fourth)
    assert "用制表符" not in system(fourth)
    ask(terminal, "/reload")
    terminal.wait_for("instructions read again: nothing changed")
    fifth = turn(terminal, fake_llm, "five", "Fifth.")
    assert fifth.payload[SYSTEM] == fourth.payload[SYSTEM]


def test_a_folders_instructions_come_once_also_after_continuing(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    write(project / "lib/x.py", "x = 1\n")
    write(project / "lib/MEWCODE.md", "LIB-RULE 库\n")
    for flags in ([], ["-c"]):
        terminal = start(*flags)
        fake_llm.script(Reply.calls(READ), Reply.text(f"Done{flags}."))
        ask(terminal, "read it")
        terminal.wait_for(f"Done{flags}.")
        leave(terminal)
    first, *others = fake_llm.generations
    assert "LIB-RULE" not in first.body.decode()
    assert [said(request).count("LIB-RULE 库") for request in others] == [1, 1, 1]


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_init_writes_a_first_file_that_holds_at_once(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    write(project / "README.md", "# 工具\n\nA tool for 测试 of things.\n")
    write(project / "package.json", '{"name": "things", "scripts": {"test": "vitest run"}}')
    terminal = start(rows=rows, columns=columns)
    turn(terminal, fake_llm, "one", "First.")
    ask(terminal, "/init")
    terminal.wait_for_screen("Write MEWCODE.md?")
    assert "npm run test" in shown(terminal)
    assert "测试" in shown(terminal)
    assert not (project / "MEWCODE.md").exists()
    terminal.send("\r")
    terminal.wait_for("written: ")
    text = (project / "MEWCODE.md").read_text()
    assert "# things" in text
    second = turn(terminal, fake_llm, "two", "Second.")
    assert "New: Source: MEWCODE.md" in said(second)
    assert "npm run test" in said(second)
    ask(terminal, "/init")
    terminal.wait_for_screen("MEWCODE.md is there: nothing was written")
    terminal.send("\x1b")
    ready(terminal)
    assert (project / "MEWCODE.md").read_text() == text
    no_traceback(terminal)


def test_init_shows_how_a_file_that_is_there_differs_and_leaves_it(start: Start, project: Path) -> None:
    path = write(project / "MEWCODE.md", "# 我们的\n\nKeep it short.\n")
    before = path.stat()
    terminal = start()
    ask(terminal, "/init")
    terminal.wait_for_screen("❯ 1. Leave it as it is")
    text = shown(terminal)
    assert "would differ so" in text
    assert "Keep it short." in text
    assert "# project" in text
    terminal.send("\r")
    terminal.wait_gone("Leave it as it is")
    ready(terminal)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_model_writes_it_and_the_user_sees_the_change_first(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    write(project / "package.json", '{"name": "things"}')
    content = "# things\n\nWritten by the model. 模型写的。\n"
    fake_llm.script(
        Reply.calls(("read_file", {"path": "package.json"})),
        Reply.calls(("write_file", {"path": "MEWCODE.md", "content": content})),
        Reply.text("I wrote it."),
    )
    terminal = start()
    ask(terminal, "/init")
    terminal.wait_for_screen("Write MEWCODE.md?")
    terminal.send("2")
    terminal.wait_for_screen("Allow write_file?")
    assert "Written by the model." in shown(terminal)
    assert not (project / "MEWCODE.md").exists()

    def taken() -> bool:
        if "Allow write_file?" in screen(terminal):
            terminal.send("\r")
        return (project / "MEWCODE.md").exists()

    terminal.wait_until(taken, "the file")
    terminal.wait_for("I wrote it.")
    assert (project / "MEWCODE.md").read_text() == content
    asked = fake_llm.generations[0]
    assert "the file MEWCODE.md" in said(asked)
    assert "Makefile" in said(asked)
    assert "Makefile" in shown(terminal), "what is sent is shown"
    assert "there is no file" not in shown(terminal)
    ready(terminal)
    no_traceback(terminal)


def test_init_within_a_sub_folder_names_the_roots_file(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    (project / ".git").mkdir()
    below = project / "src/深"
    below.mkdir(parents=True)
    argv = [*PROGRAM, "--model", MODEL]
    with Terminal(argv, cwd=below, env=environment(home, anthropic=fake_llm.url)) as terminal:
        ask(terminal, "/init")
        terminal.wait_for_screen("Write MEWCODE.md?")
        terminal.send("\r")
        terminal.wait_for("written: ")
        assert (project / "MEWCODE.md").is_file()
        assert os.listdir(below) == []
        fake_llm.script(Reply.text("Improved."))
        ask(terminal, "/init")
        terminal.wait_for_screen("MEWCODE.md is there")
        terminal.send("2")
        terminal.wait_for("Improved.")
        assert "the file ../../MEWCODE.md" in said(fake_llm.generations[0])


def test_in_plain_lines_it_is_all_numbers(
    fake_llm: FakeLLM, project: Path, home: Path, tmp_path: Path
) -> None:
    write(tmp_path / "x.md", CANARY)
    write(project / "MEWCODE.md", "Ours.\n@include ../x.md\n")
    argv = [*PROGRAM, "--model", MODEL, "--plain"]
    fake_llm.script(Reply.text("First."), Reply.text("Second."), Reply.text("Improved."))
    with Terminal(argv, cwd=project, env=environment(home, anthropic=fake_llm.url)) as terminal:

        def say(text: str, answer: str) -> None:
            terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
            terminal.send(text + "\r")
            terminal.wait_for(answer)

        say("one", "/instructions lets you approve it")
        assert "MEWCODE.md includes ../x.md from outside the project" in shown(terminal)
        say("/instructions", "Type a number from 1 to 3")
        assert "MEWCODE.md  project, " in shown(terminal)
        terminal.send("1\r")
        terminal.wait_for("approved:")
        say("two", "Second.")
        assert CANARY not in fake_llm.generations[0].body.decode()
        assert CANARY in system(fake_llm.generations[1])
        say("/reload", "nothing changed")
        say("/init", "Type a number from 1 to 2")
        assert "# project" in shown(terminal)
        terminal.send("2\r")
        terminal.wait_for("Improved.")
        assert "the file MEWCODE.md" in said(fake_llm.generations[2])
        assert (project / "MEWCODE.md").read_text() == "Ours.\n@include ../x.md\n"
        assert b"\x1b" not in terminal.raw
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
