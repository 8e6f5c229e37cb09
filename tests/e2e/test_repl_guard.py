"""What a note forbids is asked about before it is done, in the session after the one that noted it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.adverse import Start, ask, headless, leave
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply

PUSH = Reply.calls(("bash", {"command": "git push origin main"}))
ALLOWED = ("--allow", "bash(git push *)")


def result(request: RecordedRequest) -> str:
    return json.dumps(request.messages[-1], ensure_ascii=False)


def noted(start: Start, words: str) -> None:
    terminal = start()
    ask(terminal, f"# {words}")
    terminal.wait_for_screen("what is this note about?")
    terminal.send("\r")
    terminal.wait_for("noted:")
    leave(terminal)


@pytest.mark.parametrize("words", ["never push to main", "永远不要推送到 main"], ids=["English", "Chinese"])
def test_what_was_noted_in_one_session_is_asked_about_in_the_next(
    words: str, start: Start, fake_llm: FakeLLM
) -> None:
    noted(start, words)
    fake_llm.script(PUSH, Reply.text("I leave it."))
    terminal = start(*ALLOWED, columns=120)
    ask(terminal, "publish this")
    terminal.wait_for_screen(f"Allow bash? the note {words}")
    terminal.send("\x1b")
    terminal.wait_gone("Allow bash?")
    leave(terminal)


def test_without_a_terminal_the_model_is_refused_with_the_notes_words(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    noted(start, "never push to main")
    fake_llm.script(PUSH, Reply.text("I leave it."))
    done = headless(["publish this", *ALLOWED], project, home, fake_llm.url)
    assert (done.code, done.out) == (0, "I leave it.\n")
    refused = result(fake_llm.generations[-1])
    assert "permission denied" in refused
    assert "never push to main" in refused


def test_what_instructions_forbid_is_held_against_a_call_too(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    (project / "MEWCODE.md").write_text("- Never push to main.\n")
    fake_llm.script(PUSH, Reply.text("I leave it."))
    done = headless(["publish this", *ALLOWED], project, home, fake_llm.url)
    assert done.code == 0
    assert "MEWCODE.md" in result(fake_llm.generations[-1])
    assert "Never push to main" in result(fake_llm.generations[-1])


def test_where_the_guard_is_off_it_is_done(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    noted(start, "never push to main")
    (home / ".mewcode/config.yaml").write_text("memory: {guard: false}\n")
    fake_llm.script(PUSH, Reply.text("Done."))
    done = headless(["publish this", *ALLOWED], project, home, fake_llm.url)
    assert done.code == 0
    assert "permission denied" not in result(fake_llm.generations[-1])
    assert "exit code" in result(fake_llm.generations[-1])
