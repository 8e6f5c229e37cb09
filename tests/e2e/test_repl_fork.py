"""On in a new session while the old one stays as it is, exports, names, and back to a session by its id."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.adverse import (
    HELD,
    MODEL,
    Start,
    ask,
    files_of,
    kill,
    leave,
    no_traceback,
    open_gate,
    ready,
    records,
)
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal
from tests.support.witness import Witness


@pytest.fixture(autouse=True)
def no_side_calls(home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("sessions:\n  titles: false\n  briefs: false\n")


def sent(fake_llm: FakeLLM) -> str:
    return json.dumps(fake_llm.generations[-1].messages, ensure_ascii=False)


def exchange(terminal: Terminal, fake_llm: FakeLLM, words: str, answer: str) -> None:
    fake_llm.script(Reply.text(answer))
    ask(terminal, words)
    terminal.wait_for(answer)
    ready(terminal)


def test_a_fork_goes_on_and_the_old_session_stays(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    terminal = start()
    exchange(terminal, fake_llm, "my colour is teal", "Noted: teal.")
    [old] = files_of(project)
    before = old.read_bytes()
    ask(terminal, "/fork")
    terminal.wait_for(f"mewcode -r {old.parent.name}")
    exchange(terminal, fake_llm, "and now purple", "Purple it is.")
    assert "my colour is teal" in sent(fake_llm)
    [_, new] = sorted(files_of(project), key=lambda path: path != old)
    assert new.parent.name in "\n".join(terminal.history())
    leave(terminal)
    said = [record["content"] for record in records(old) if "role" in record]
    assert said == ["my colour is teal", "Noted: teal."]
    assert old.read_bytes().startswith(before)
    again = start("-r", old.parent.name)
    exchange(again, fake_llm, "which?", "Teal.")
    assert "purple" not in sent(fake_llm)
    third = start("-r", new.parent.name)
    third.wait_for("Purple it is.")
    exchange(third, fake_llm, "and here?", "Both.")
    assert "my colour is teal" in sent(fake_llm)
    assert "and now purple" in sent(fake_llm)


def test_a_fork_needs_something_said(start: Start) -> None:
    terminal = start()
    ask(terminal, "/fork")
    terminal.wait_for("nothing to fork yet")
    ready(terminal)
    no_traceback(terminal)


def test_back_to_a_session_by_its_id(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    first = start()
    exchange(first, fake_llm, "第一个问题", "The first answer.")
    exchange(first, fake_llm, "second question", "The second answer.")
    leave(first)
    [path] = files_of(project)
    terminal = start()
    exchange(terminal, fake_llm, "something else", "Else.")
    ask(terminal, f"/resume {path.parent.name[:-2]}")
    terminal.wait_for_screen("resumed: ")
    terminal.wait_for_screen("4 messages, paused for")
    terminal.wait_for_screen("The second answer.")
    shown = "\n".join(terminal.lines())
    assert shown.index("resumed: ") < shown.index("第一个问题") < shown.index("The first answer.")
    assert "Else." not in shown
    exchange(terminal, fake_llm, "third question", "The third answer.")
    assert "第一个问题" in sent(fake_llm)
    assert "something else" not in sent(fake_llm)
    assert "third question" in path.read_text()
    ask(terminal, f"/resume {path.parent.name}")
    terminal.wait_for("is the one you are in")
    ask(terminal, "/resume nonsense")
    terminal.wait_for("no session 'nonsense'")
    ready(terminal)
    no_traceback(terminal)


def test_a_session_that_was_named_is_resumed_by_name(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    terminal = start()
    ask(terminal, "/rename 解析器 work")
    terminal.wait_for("this session is named 解析器 work")
    exchange(terminal, fake_llm, "fix it", "Fixed.")
    ask(terminal, "/pin")
    terminal.wait_for("this session is pinned")
    ask(terminal, "/tag bug urgent")
    terminal.wait_for("tagged: #bug #urgent")
    leave(terminal)
    [path] = files_of(project)
    assert {"title", "pin", "tag"} <= {str(record.get("type")) for record in records(path)}
    second = start()
    ask(second, "/resume 解析器 work")
    second.wait_for_screen("resumed: 解析器 work")
    second.wait_for_screen("Fixed.")


def test_nothing_is_resumed_while_a_turn_runs(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    witness = Witness(project / "witness")
    gate = project / "gate"
    os.mkfifo(gate)
    fake_llm.script(Reply.calls(("bash", {"command": HELD})), Reply.text("Over."))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "wait")
    terminal.wait_for("started")
    terminal.send("/resume\r")
    terminal.wait_for("a turn is running")
    terminal.send("/rewind\r")
    terminal.wait_until(
        lambda: "\n".join(terminal.history()).count("a turn is running") == 2, "it said twice"
    )
    open_gate(gate, witness)
    terminal.wait_for("Over.")
    ready(terminal)
    witness.close()


def test_after_a_kill_in_the_middle_of_a_tool_the_model_is_told(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    witness = Witness(project / "witness")
    gate = project / "gate"
    os.mkfifo(gate)
    fake_llm.script(Reply.calls(("bash", {"command": HELD})))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "run it")
    terminal.wait_for("started")
    kill(terminal)
    again = start("-c")
    again.wait_for("repaired: 1 unfinished tool call")
    again.wait_for("run it")
    exchange(again, fake_llm, "what happened?", "I cannot know.")
    assert "interrupted: its effect is unknown" in sent(fake_llm)
    open_gate(gate, witness)
    assert witness.all_gone()
    witness.close()


def test_an_export_is_written_once_and_without_secrets(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    key = "sk-abcdefghijklmnop1234567890"
    terminal = start(rows=50, columns=200)
    ask(terminal, "/export")
    terminal.wait_for("nothing to export yet")
    exchange(terminal, fake_llm, f"my key is {key} 好", "Keep it.")
    ask(terminal, "/export talk.html")
    terminal.wait_for("talk.html (")
    ask(terminal, "/export talk.html")
    terminal.wait_for("talk.html exists.")
    ask(terminal, "/export raw.json --raw")
    terminal.wait_for("raw.json (")
    ask(terminal, "/export x.pdf")
    terminal.wait_for("no export as .pdf")
    ask(terminal, "/export")
    terminal.wait_for("my-key-is")
    ready(terminal)
    [markdown] = project.glob("*.md")
    assert key not in markdown.name
    for path in (markdown, project / "talk.html"):
        assert key not in path.read_text()
        assert "好" in path.read_text()
    assert key in (project / "raw.json").read_text()


def test_in_plain_lines_a_session_is_picked_by_number(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    first = start()
    exchange(first, fake_llm, "the old question", "The old answer.")
    leave(first)
    argv = [*PROGRAM, "--model", MODEL, "--plain"]
    with Terminal(argv, cwd=project, env=environment(home, anthropic=fake_llm.url)) as terminal:
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
        terminal.send("/resume\r")
        terminal.wait_for("1. the old question")
        terminal.send("1\r")
        terminal.wait_for("resumed: ")
        terminal.wait_for("The old answer.")
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
        fake_llm.script(Reply.text("On we go."))
        terminal.send("and now?\r")
        terminal.wait_for("On we go.")
        assert "the old question" in sent(fake_llm)
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
        assert b"\x1b" not in terminal.raw
