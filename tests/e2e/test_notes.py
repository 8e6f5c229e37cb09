"""Notes from one session to the next, without a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply
from tests.support.program import environment, run_program

MODEL = "claude-opus-5-5"
SAVE = (
    "save_note",
    {
        "type": "correction_feedback",
        "name": "测试用 pytest",
        "body": "用 pytest，不用 unittest。\n**Why**: 团队约定。\n**How to apply**: 写测试时。",
        "aliases": ["test runner", "单元测试"],
    },
)
TOOLS = {"save_note", "search_notes", "read_note", "forget_note"}


def system(request: RecordedRequest) -> str:
    if request.protocol == "openai":
        return str(request.messages[0]["content"])
    return "\n".join(block["text"] for block in request.payload["system"])  # type: ignore[attr-defined]  # as sent


def tools(request: RecordedRequest) -> set[str]:
    found: list[Any] = request.payload["tools"]  # type: ignore[assignment]  # as sent
    return {tool["name"] if "name" in tool else tool["function"]["name"] for tool in found}


def say(words: str, project: Path, env: dict[str, str], *more: str) -> None:
    model = MODEL if "ANTHROPIC_BASE_URL" in env else "some-model"
    done = run_program(["-p", words, "--model", model, *more], cwd=project, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ok\n", b"")


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_what_is_noted_in_one_session_is_known_in_the_next(
    protocol: str, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    url = {protocol: fake_llm.url if protocol == "anthropic" else fake_llm.openai_url}
    env = environment(home, **url)
    fake_llm.script(Reply.calls(SAVE), Reply.text("ok"), Reply.text("ok"))
    say("记住：测试用 pytest", project, env)
    first, second = fake_llm.generations
    assert tools(first) >= TOOLS
    assert "<notes>" not in system(first)
    # A note changes the prompt at the next break of its prefix only.
    assert system(second) == system(first)
    say("写个测试", project, env)
    text = system(fake_llm.generations[2])
    assert "\n<notes>\n## Notes of the user\n- [correction_feedback] [测试用 pytest](" in text
    assert "**How to apply**: 写测试时。" in text
    assert "wins over them" in text
    assert tools(fake_llm.generations[2]) == tools(first)
    fake_llm.assert_clean()


@pytest.mark.parametrize("way", ["flag", "config", "project"])
def test_with_notes_off_nothing_is_read_or_written(
    way: str, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    env = environment(home, anthropic=fake_llm.url)
    fake_llm.script(Reply.calls(SAVE), Reply.text("ok"), Reply.calls(SAVE), Reply.text("ok"))
    say("remember", project, env)
    folder = home / ".mewcode/memory"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert before
    where = {"config": home, "project": project}.get(way)
    if where is not None:
        (where / ".mewcode").mkdir(exist_ok=True)
        (where / ".mewcode/config.yaml").write_text("memory: {enabled: false}\n", encoding="utf-8")
    say("remember", project, env, *(["--no-memory"] if way == "flag" else []))
    off = fake_llm.generations[2]
    assert not tools(off) & TOOLS
    assert "notes>" not in system(off)
    assert "测试用" not in json.dumps(off.payload, ensure_ascii=False)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not (project / ".mewcode/memory").exists()


def test_to_forget_a_note_needs_the_users_word(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    forget = ("forget_note", {"note": "测试用 pytest"})
    fake_llm.script(Reply.calls(SAVE), Reply.calls(forget), Reply.text("ok"))
    say("remember, then forget", project, env)
    assert "no user is here to ask" in json.dumps(fake_llm.generations[2].messages, ensure_ascii=False)
    fake_llm.script(Reply.calls(forget), Reply.text("ok"), Reply.text("ok"))
    say("forget it", project, env, "--allow", "forget_note")
    say("hi", project, env)
    assert "<notes>" not in system(fake_llm.generations[5])


def test_the_prompt_that_is_shown_holds_the_notes(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    add = ["memory", "add", "--type", "user", "--name", "语言", "用中文回答"]
    assert run_program(add, cwd=project, env=env).returncode == 0
    shown = run_program(["prompt", "show"], cwd=project, env=env).stdout.decode()
    assert "== memory · priority 100 · " in shown
    assert "[语言](user_preference_语言.md) — 用中文回答" in shown


def test_notes_that_came_with_a_folder_wait_for_trust(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    folder = project / ".mewcode/memory"
    folder.mkdir(parents=True)
    (folder / "project_knowledge_evil.md").write_text("EVIL 一句\n", encoding="utf-8")
    env = environment(home, anthropic=fake_llm.url)
    search = ("search_notes", {"query": "EVIL"})
    fake_llm.script(Reply.calls(search), Reply.text("ok"), Reply.text("ok"))
    say("hi", project, env)
    assert "<notes>" not in system(fake_llm.generations[0])
    assert "一句" not in json.dumps(fake_llm.generations[1].payload, ensure_ascii=False)
    say("hi", project, env, "--trust")
    assert "EVIL 一句" in system(fake_llm.generations[2])
