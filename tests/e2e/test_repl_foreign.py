"""Sessions that came with a folder: whoever sits at the terminal is asked whether to trust it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, leave, no_traceback, ready, records, screen
from tests.support.archive import head, make_session, said
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal

NAME = "20260101-100000-aaaa"
ASKED = "Trust the folder and go on?"


@pytest.fixture(autouse=True)
def no_side_calls(home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("sessions:\n  titles: false\n  briefs: false\n")


@pytest.fixture
def brought(project: Path) -> Path:
    """A session that this user's MewCode did not make."""
    lines = (head(NAME, model=MODEL), said("u", "他的问题", 2), said("a", "Its answer.", 3, "assistant"))
    return make_session(project / ".mewcode/sessions", NAME, *lines) / "conversation.jsonl"


def take(terminal: Terminal, number: str) -> None:
    terminal.wait_for_screen(ASKED)
    assert f"session {NAME} was not made by you in this folder" in "".join(terminal.lines())
    assert "Its answer." not in "\n".join(terminal.history())
    terminal.send(number)


def goes_on(terminal: Terminal, fake_llm: FakeLLM) -> None:
    terminal.wait_for("Its answer.")
    ready(terminal)
    fake_llm.script(Reply.text("On we go."))
    ask(terminal, "and now?")
    terminal.wait_for("On we go.")
    assert "他的问题" in json.dumps(fake_llm.generations[-1].messages, ensure_ascii=False)
    no_traceback(terminal)


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
@pytest.mark.parametrize("arguments", [("-c",), ("-r", NAME)])
def test_a_start_asks_and_goes_on_after_a_yes(
    start: Start, fake_llm: FakeLLM, brought: Path, arguments: tuple[str, ...], rows: int, columns: int
) -> None:
    terminal = start(*arguments, rows=rows, columns=columns)
    take(terminal, "2")
    goes_on(terminal, fake_llm)
    assert records(brought)[-1]["content"] == "On we go."
    leave(terminal)
    again = start("-c")
    again.wait_for("On we go.")
    ready(again)
    assert ASKED not in "\n".join(again.history())


@pytest.mark.parametrize("answer", ["\r", "\x1b", "1"])
def test_all_else_is_a_no_and_the_hint_stays(start: Start, brought: Path, answer: str) -> None:
    before = brought.read_bytes()
    terminal = start("-c")
    take(terminal, answer)
    assert terminal.wait_exit() == 1
    assert f"--trust -r {NAME}" in "".join(terminal.history())
    assert brought.read_bytes() == before


def test_the_picker_leads_to_the_question(start: Start, fake_llm: FakeLLM, brought: Path) -> None:
    terminal = start("-r")
    terminal.wait_for_screen("他")
    terminal.send("\r")
    take(terminal, "2")
    goes_on(terminal, fake_llm)


def test_resume_within_a_session_asks_in_the_panel(start: Start, fake_llm: FakeLLM, brought: Path) -> None:
    terminal = start()
    ask(terminal, f"/resume {NAME}")
    take(terminal, "1")
    terminal.wait_for("mewcode --trust -r")
    ready(terminal)
    ask(terminal, f"/resume {NAME}")
    take(terminal, "2")
    goes_on(terminal, fake_llm)


def test_the_settings_that_the_folder_brings_are_named(start: Start, brought: Path, project: Path) -> None:
    config = project / ".mewcode/config.yaml"
    config.write_text("permissions:\n  allow: ['bash(*)']\n")
    terminal = start("-c")
    terminal.wait_for("Trust it? [y/N]")
    terminal.send("n\r")
    terminal.wait_for_screen(ASKED)
    assert "config.yaml:2: permissions.allow" in screen(terminal)
    terminal.send("2")
    terminal.wait_for("Its answer.")
    ready(terminal)
    ask(terminal, "/permissions")
    terminal.wait_for("bash(*)")


def test_in_plain_lines_the_same_is_asked(
    fake_llm: FakeLLM, project: Path, home: Path, brought: Path
) -> None:
    argv = [*PROGRAM, "--model", MODEL, "--plain", "-c"]
    with Terminal(argv, cwd=project, env=environment(home, anthropic=fake_llm.url)) as terminal:
        terminal.wait_for(ASKED)
        terminal.send("2\r")
        terminal.wait_for("Its answer.")
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
