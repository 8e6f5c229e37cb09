"""``# text`` in a terminal, and what comes of it in the next session."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.adverse import Start, ask, leave, no_traceback
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply


def system(request: RecordedRequest) -> str:
    return json.dumps(request.payload["system"], ensure_ascii=False)


def test_a_note_that_is_typed_counts_at_once_and_in_the_next_session(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("First."), Reply.text("Second."), Reply.text("Third."))
    terminal = start()
    ask(terminal, "hello")
    terminal.wait_for("First.")
    ask(terminal, "# 我喜欢简短的回答")
    terminal.wait_for("noted: 我喜欢简短的回答 · /memory undo takes it back")
    ask(terminal, "# never commit without a test")
    terminal.wait_for_screen("what is this note about?")
    terminal.send("\r")
    terminal.wait_for("noted: never commit without a test")
    assert len(fake_llm.generations) == 1, "a note is not sent by itself"
    ask(terminal, "go on")
    terminal.wait_for("Second.")
    no_traceback(terminal)
    leave(terminal)
    first, second = fake_llm.generations
    told = json.dumps(second.messages[-1], ensure_ascii=False)
    assert "The user noted this" in told
    assert "我喜欢简短的回答" in told
    assert system(second) == system(first)
    again = start()
    ask(again, "hello")
    again.wait_for("Third.")
    leave(again)
    text = system(fake_llm.generations[2])
    assert "## Notes of the user" in text
    assert "[我喜欢简短的回答]" in text
    assert "never commit without a test" in text


def test_with_notes_off_it_says_so(start: Start, fake_llm: FakeLLM, home: Path, project: Path) -> None:
    terminal = start("--no-memory")
    ask(terminal, "# remember me")
    terminal.wait_for("notes are off: this was neither kept nor sent")
    leave(terminal)
    assert not (home / ".mewcode/memory").exists()
    assert not (project / ".mewcode/memory").exists()


def test_a_plain_terminal_asks_by_number(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    terminal = start("--plain")
    terminal.wait_for("/help lists the commands")
    terminal.send("# blue\r")
    terminal.wait_for("what is this note about?")
    terminal.send("1\r")
    terminal.wait_for("noted: blue")
    assert (project / ".mewcode/memory/project_knowledge_blue.md").is_file()
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
