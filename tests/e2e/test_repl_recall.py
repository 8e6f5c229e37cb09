"""Notes that come when they are needed, in the real program: more than the prompt's list of them says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, headless, leave, no_traceback
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply
from tests.support.program import environment, run_program
from tests.support.terminal import Terminal

ENGLISH = (
    "Test database port",
    "Where the test database listens",
    "It listens on port 5433, never on the usual one.",
    "on which port does the test database listen?",
    "port 5433",
)
CHINESE = (
    "测试数据库的端口",
    "测试数据库在哪里监听",
    "在 5433 端口监听，不用默认端口。",
    "测试数据库用哪个端口？",
    "在 5433 端口监听",
)
TRIES = 6
"""Turns after which what was found late has come at last."""


def add(project: Path, home: Path, url: str, name: str, description: str, body: str) -> None:
    words = [
        "memory",
        "add",
        "--type",
        "project_knowledge",
        "--name",
        name,
        "--description",
        description,
        body,
    ]
    done = run_program(words, cwd=project, env=environment(home, anthropic=url))
    assert done.returncode == 0, done.stderr


def said(request: RecordedRequest) -> str:
    return json.dumps(request.messages, ensure_ascii=False)


def system(request: RecordedRequest) -> str:
    return json.dumps(request.payload["system"], ensure_ascii=False)


def answered(terminal: Terminal, fake_llm: FakeLLM, question: str, fact: str) -> int:
    """Asks, and goes on until the fact is in what is sent; the number of that request."""
    for number in range(TRIES):
        fake_llm.script(Reply.text(f"Answer {number}."))
        ask(terminal, question if not number else "ok")
        terminal.wait_for(f"Answer {number}.")
        if fact in said(fake_llm.generations[-1]):
            return len(fake_llm.generations) - 1
    raise AssertionError(f"{fact} was never recalled")


@pytest.mark.parametrize("note", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_a_note_comes_with_the_question_that_it_answers_and_stays_where_it_came(
    note: tuple[str, str, str, str, str], start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    name, description, body, question, fact = note
    add(project, home, fake_llm.url, name, description, body)
    terminal = start()
    place = answered(terminal, fake_llm, question, fact)
    terminal.wait_for(f"recalled: {name}")
    assert fact not in system(fake_llm.generations[0]), "the list of notes does not say it"
    no_traceback(terminal)
    leave(terminal)
    fake_llm.script(Reply.text("On."))
    again = start("--continue")
    ask(again, "ok")
    again.wait_for("On.")
    leave(again)
    before, after = fake_llm.generations[place], fake_llm.generations[-1]
    assert fact in said(before)
    assert said(after).count(fact) == 1, "once, where it was told"
    fake_llm.assert_clean()


def test_why_names_what_was_recalled(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    add(project, home, fake_llm.url, *ENGLISH[:3])
    terminal = start(columns=120)
    answered(terminal, fake_llm, *ENGLISH[3:])
    ask(terminal, "/memory why")
    terminal.wait_for("[project_knowledge] Test database port  (project; recalled 0.")
    leave(terminal)


def test_without_a_terminal_the_event_is_in_the_stream(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    add(project, home, fake_llm.url, *ENGLISH[:3])
    rounds = [Reply.calls(("bash", {"command": "echo ok"})) for _ in range(TRIES)]
    fake_llm.script(*rounds, Reply.text("On 5433."))
    options = ["--output-format", "stream-json", "--permission-mode", "bypass"]
    done = headless([ENGLISH[3], *options], project, home, fake_llm.url)
    assert done.code == 0, done.err
    assert ENGLISH[4] in said(fake_llm.generations[-1])
    events = [json.loads(line) for line in done.out.splitlines()]
    [message] = [
        event["message"]
        for event in events
        if event["type"] == "message" and event["message"].get("origin") == "recall"
    ]
    [told] = message["provider_meta"]["notes"]
    assert told["name"] == ENGLISH[0]


def test_with_notes_off_nothing_comes(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    add(project, home, fake_llm.url, *ENGLISH[:3])
    fake_llm.script(Reply.text("One."), Reply.text("Two."), Reply.text("Three."))
    terminal = start()
    ask(terminal, "/memory off")
    for number, words in enumerate(("One.", "Two.")):
        ask(terminal, ENGLISH[3] if not number else "ok")
        terminal.wait_for(words)
    leave(terminal)
    done = headless([ENGLISH[3], "--no-memory"], project, home, fake_llm.url)
    assert done.code == 0
    assert not any(ENGLISH[4] in said(request) for request in fake_llm.generations)


def test_the_small_model_chooses_beside_the_turn(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    add(
        project, home, fake_llm.url, "Ledger rounding", "How amounts are rounded", "Half to even, as audited."
    )
    (home / ".mewcode/config.yaml").write_text(
        f"small_model: {MODEL}\nsessions: {{titles: false, briefs: false}}\n"
    )
    fake_llm.aside = Reply.text('{"selected_memories": ["project_knowledge_ledger-rounding.md"]}')
    terminal = start()
    answered(terminal, fake_llm, "write the invoice module", "Half to even")
    terminal.wait_for("recalled: Ledger rounding")
    chosen = [request for request in fake_llm.side_calls if "selected_memories" in request.body.decode()]
    assert chosen
    assert "write the invoice module" in said(chosen[0])
    assert "Half to even" not in said(chosen[0])
    leave(terminal)
