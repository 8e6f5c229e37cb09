"""Notes that are taken behind a conversation, in the real program: from the first correction to its use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.adverse import Start, ask, files_of, headless, kill, leave, no_traceback, ready, records
from tests.support.fake_llm import FakeLLM, Gate, RecordedRequest, Reply
from tests.support.noting import CORRECTION, note, notes

PYTEST = note(
    "Tests use pytest",
    "Write tests with pytest, never unittest.",
    type="correction_feedback",
    aliases=["test framework", "测试框架"],
)
CHINESE = note(
    "用 pytest 写测试",
    "测试用 pytest 写，不要用 unittest。",
    type="correction_feedback",
    aliases=["测试框架", "test framework"],
)
ANSWER = Reply.text("I see.")


def as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def system(request: RecordedRequest) -> str:
    return as_text(request.payload["system"])


def said(request: RecordedRequest) -> str:
    return as_text(request.messages)


def news(request: RecordedRequest) -> str:
    """What of a question is to be looked through."""
    return said(request).partition("<conversation")[2]


def notes_of(project: Path) -> list[str]:
    return sorted(path.name for path in (project / ".mewcode/memory").glob("[a-z]*_*.md"))


def of_type(project: Path, kind: str) -> list[dict[str, Any]]:
    [path] = files_of(project)[-1:]
    return [record for record in records(path) if record.get("type") == kind]


@pytest.mark.parametrize(
    ("correction", "found", "told", "word"),
    [
        (CORRECTION, PYTEST, "noted: Tests use pytest · /memory undo", "never unittest"),
        ("不对，以后都用 pytest，别用 unittest。", CHINESE, "noted: 用 pytest 写测试", "不要用 unittest"),
    ],
    ids=["English", "Chinese"],
)
def test_a_correction_is_noted_told_and_counts_now_and_in_the_next_session(
    start: Start,
    fake_llm: FakeLLM,
    project: Path,
    correction: str,
    found: dict[str, Any],
    told: str,
    word: str,
) -> None:
    fake_llm.script(*(Reply.text(f"Answer {number}.") for number in range(1, 5)))
    fake_llm.extracts.append(Reply.text(notes(found)))
    terminal = start()
    ask(terminal, "write a test")
    terminal.wait_for("Answer 1.")
    ask(terminal, correction)
    terminal.wait_for(told)
    assert len(notes_of(project)) == 1
    ask(terminal, "and another one")
    terminal.wait_for("Answer 3.")
    first, _, third = fake_llm.generations
    assert word in said(third), "in a reminder, in the same session"
    assert system(third) == system(first)
    no_traceback(terminal)
    leave(terminal)
    again = start()
    ask(again, "write a test")
    again.wait_for("Answer 4.")
    assert word in system(fake_llm.generations[3]), "in the prompt of the next session"
    leave(again)
    [asked] = fake_llm.extractions
    assert "tools" not in asked.payload
    assert correction in said(asked)
    fake_llm.assert_clean()


def test_it_is_told_after_an_answer_and_never_within_it(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(ANSWER, Reply.text(["One line.\n\n", Gate("answer"), "Another line.\n\n"]))
    fake_llm.extracts.append(Reply.stall("notes", Reply.text(notes(PYTEST))))
    terminal = start()
    ask(terminal, CORRECTION)
    fake_llm.wait_gate_reached("notes")
    terminal.wait_for("taking notes")
    terminal.send("go on\r")
    fake_llm.wait_gate_reached("answer")
    fake_llm.release("notes")
    terminal.wait_gone("taking notes")
    terminal.send("half a th")
    terminal.wait_for("half a th")
    assert "noted:" not in "\n".join(terminal.history())
    fake_llm.release("answer")
    terminal.wait_for("noted: Tests use pytest")
    shown = "\n".join(terminal.history())
    assert shown.index("Another line.") < shown.index("noted:")
    terminal.wait_for_screen("half a th")


def test_esc_stops_the_turn_and_not_the_notes(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(ANSWER, Reply.stall("answer"))
    fake_llm.extracts.append(Reply.stall("notes", Reply.text(notes(PYTEST))))
    terminal = start()
    ask(terminal, CORRECTION)
    fake_llm.wait_gate_reached("notes")
    terminal.send("go on\r")
    fake_llm.wait_gate_reached("answer")
    terminal.send("\x1b")
    terminal.wait_for("interrupted")
    fake_llm.release("notes")
    terminal.wait_for("noted: Tests use pytest")
    assert len(notes_of(project)) == 1
    leave(terminal)


@pytest.mark.parametrize("how", ["leaves", "is killed"])
def test_who_leaves_or_is_killed_in_the_middle_has_it_noted_at_the_next_start_and_once(
    start: Start, fake_llm: FakeLLM, project: Path, how: str
) -> None:
    fake_llm.default = ANSWER
    fake_llm.extracts.append(Reply.stall("notes", Reply.text(notes(PYTEST))))
    terminal = start()
    ask(terminal, CORRECTION)
    fake_llm.wait_gate_reached("notes")
    if how == "leaves":
        leave(terminal)
        [record] = of_type(project, "noted")
        assert (record["upto"], record["left"]) == (None, 1)
    else:
        kill(terminal)
    assert notes_of(project) == []
    fake_llm.extracts.append(Reply.text(notes(PYTEST)))
    again = start()
    again.wait_for("noted: Tests use pytest")
    assert len(notes_of(project)) == 1
    assert CORRECTION in news(fake_llm.extractions[1])
    assert of_type(project, "noted")[-1]["upto"] is not None
    leave(again)
    last = start("--continue")
    ask(last, "remember: one more thing")
    request = fake_llm.wait_for_extraction(3)
    assert CORRECTION not in news(request)
    last.wait_gone("esc to stop")
    leave(last)


def test_two_windows_at_once_make_one_note_of_the_same_fact(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.default = ANSWER
    fake_llm.extracts.extend(Reply.stall("notes", Reply.text(notes(PYTEST))) for _ in range(2))
    one, other = start(), start()
    ask(one, CORRECTION)
    ask(other, CORRECTION)
    fake_llm.wait_gate_reached("notes", times=2)
    fake_llm.release("notes")
    for terminal in (one, other):
        terminal.wait_gone("taking notes")
        leave(terminal)
    assert notes_of(project) == ["correction_feedback_tests-use-pytest.md"]
    index = (project / ".mewcode/memory/MEMORY.md").read_text("utf-8")
    assert index.count("[Tests use pytest]") == 1


def test_an_unreadable_answer_is_asked_again_once_and_then_told(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.default = ANSWER
    fake_llm.extracts.extend(Reply.text(words) for words in ("I would note it.", "As I said."))
    terminal = start()
    ask(terminal, CORRECTION)
    terminal.wait_for("the model's answer could not be read; nothing noted this time")
    assert len(fake_llm.extractions) == 2
    assert notes_of(project) == []
    leave(terminal)


def test_when_the_budget_is_spent_nothing_is_asked_and_status_says_so(
    start: Start, fake_llm: FakeLLM, home: Path
) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("memory: {daily_token_limit: 1000}\n")
    fake_llm.default = ANSWER
    terminal = start()
    ask(terminal, CORRECTION)
    terminal.wait_for("notes: today's budget is spent (0 of 1,000 tokens)")
    ask(terminal, "remember: this too")
    ready(terminal)
    ask(terminal, "/status")
    terminal.wait_for("0 of 1,000 tokens used today")
    assert fake_llm.extractions == []
    leave(terminal)


def test_a_run_without_a_terminal_asks_nothing_and_leaves_it_to_the_next_start(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    fake_llm.default = ANSWER
    fake_llm.extracts.append(Reply.text(notes(CHINESE)))
    for prompt in ("say hi", "记住：测试用 pytest 写，不要用 unittest"):
        ended = headless([prompt], project, home, fake_llm.url)
        assert (ended.code, ended.out) == (0, "I see.\n")
    assert fake_llm.extractions == []
    terminal = start()
    terminal.wait_for("noted: 用 pytest 写测试")
    ready(terminal)
    assert len(fake_llm.extractions) == 1, "a greeting is worth no request"
    leave(terminal)


def test_a_plain_terminal_tells_it_before_the_next_prompt(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.default = ANSWER
    fake_llm.extracts.append(Reply.text(notes(PYTEST)))
    terminal = start("--plain")
    terminal.wait_for("/help lists the commands")
    terminal.send(f"{CORRECTION}\r")
    terminal.wait_until(lambda: bool(notes_of(project)), "the note")
    assert "noted:" not in "\n".join(terminal.history())
    terminal.send("go on\r")
    terminal.wait_for("noted: Tests use pytest")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0


def test_a_resumed_and_a_rewound_session_are_looked_through_from_where_the_last_look_ended(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.script(*(Reply.text(f"Answer {number}.") for number in range(1, 5)))
    fake_llm.extracts.append(Reply.text(notes(PYTEST)))
    terminal = start()
    ask(terminal, CORRECTION)
    terminal.wait_for("noted: Tests use pytest")
    [first] = files_of(project)
    ask(terminal, "/clear")
    ready(terminal)
    ask(terminal, "hello")
    terminal.wait_for("Answer 2.")
    ask(terminal, f"/resume {first.parent.name}")
    terminal.wait_for("resumed:")
    assert "hello" in news(fake_llm.wait_for_extraction(2)), "what was left is looked through at once"
    ask(terminal, "a slip of the tongue")
    terminal.wait_for("Answer 3.")
    ready(terminal)
    ask(terminal, "/rewind")
    terminal.wait_for_screen("before which message?")
    terminal.send("\r")
    terminal.wait_for_screen("before: a slip of the tongue")
    terminal.send("\r")
    terminal.wait_until(lambda: bool(rewinds(first)), "the rewind")
    ready(terminal)
    terminal.send("\x15remember: one more thing\r")
    terminal.wait_for("Answer 4.")
    said = news(fake_llm.wait_for_extraction(3))
    assert "one more thing" in said
    assert CORRECTION not in said
    assert "slip" not in said
    leave(terminal)


def rewinds(path: Path) -> list[dict[str, object]]:
    return [record for record in records(path) if record.get("type") == "rewind"]
