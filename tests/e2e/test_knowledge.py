"""Documents and past sessions, searched by the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply
from tests.support.program import environment, run_program

MODEL = "claude-opus-5-5"
DEPLOY = "# Deploying\n\nAll of it.\n\n## Rollback\n\nRun the zebra script, then wait for the giraffe.\n"
CHINESE = "# 部署手册\n\n## 回滚步骤\n\n先执行斑马脚本，再通知值班人员。\n"


def tools(request: RecordedRequest) -> list[str]:
    found: list[Any] = request.payload["tools"]  # type: ignore[assignment]  # as sent
    return [tool["name"] if "name" in tool else tool["function"]["name"] for tool in found]


def last_result(llm: FakeLLM) -> str:
    """What the last tool call was answered."""
    block = llm.generations[-1].messages[-1]["content"][0]  # type: ignore[index,call-overload]  # as sent
    content = block["content"]  # type: ignore[index,call-overload]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)  # type: ignore[index,call-overload,union-attr,misc]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def say(words: str, project: Path, env: dict[str, str], *more: str) -> None:
    done = run_program(["-p", words, "--model", MODEL, *more], cwd=project, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ok\n", b"")


def docs(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "search_docs", {"query": query, **more}


@pytest.fixture
def env(fake_llm: FakeLLM, project: Path, home: Path) -> dict[str, str]:
    write(project / "docs/deploy.md", DEPLOY)
    write(project / "docs/部署.md", CHINESE)
    write(home / ".mewcode/config.yaml", "knowledge: {paths: [docs]}\n")
    return environment(home, anthropic=fake_llm.url)


def test_the_model_finds_passages_with_path_line_and_heading(
    fake_llm: FakeLLM, project: Path, env: dict[str, str]
) -> None:
    fake_llm.script(Reply.calls(docs("zebra rollback")), Reply.text("ok"))
    say("how do I roll back", project, env)
    assert tools(fake_llm.generations[0]) == sorted(tools(fake_llm.generations[0]))
    result = last_result(fake_llm)
    assert "## docs/deploy.md:5 — Deploying > Rollback\n" in result
    assert "zebra script" in result
    assert result.startswith("<documents>\n")
    fake_llm.script(Reply.calls(docs("斑马脚本怎么回滚")), Reply.text("ok"))
    say("怎么回滚", project, env)
    assert last_result(fake_llm).startswith("<documents>\n## docs/部署.md:3 — 部署手册 > 回滚步骤\n")
    fake_llm.assert_clean()


def test_a_change_between_two_searches_counts(fake_llm: FakeLLM, project: Path, env: dict[str, str]) -> None:
    write_file = ("write_file", {"path": "docs/new.md", "content": "# 新\n\nThe okapi sleeps here.\n"})
    remove = ("bash", {"command": "rm docs/new.md"})
    look = Reply.calls(docs("okapi"))
    fake_llm.script(look, Reply.calls(write_file), look, Reply.calls(remove), look, Reply.text("ok"))
    say("look", project, env, "--permission-mode", "bypass")
    results = [json.dumps(request.messages[-1], ensure_ascii=False) for request in fake_llm.generations[1::2]]
    assert "No document fits" in results[0]
    assert "docs/new.md:1" in results[1]
    assert "okapi sleeps" in results[1]
    assert "No document fits" in results[2]


def test_without_paths_there_is_no_such_tool(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("ok"))
    say("hi", project, environment(home, anthropic=fake_llm.url))
    assert "search_docs" not in tools(fake_llm.generations[0])
    assert {"search_history", "read_history"} <= set(tools(fake_llm.generations[0]))


def test_past_sessions_are_found_and_read(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    key = "sk-" + "a1B2" * 8
    fake_llm.script(
        Reply.calls(("bash", {"command": f"echo giraffe; echo TOKEN={key}"})),
        Reply.text("ok"),
        Reply.text("ok"),
    )
    say("为什么部署窗口是周五", project, env, "--permission-mode", "bypass")
    say("something else", project, env)
    search = ("search_history", {"query": "部署窗口"})
    fake_llm.script(Reply.calls(search), Reply.text("ok"))
    say("我们之前说过部署窗口吗", project, env)
    found = last_result(fake_llm)
    assert found.startswith("<past-sessions>\n- session ")
    # Not the present conversation, though it says the same.
    assert found.count("- session ") == 1
    assert "为什么部署窗口是周五" in found
    assert "turn 1: 为什么部署窗口是周五" in found
    session = found.split("- session ")[1].split(",")[0]
    fake_llm.script(Reply.calls(("read_history", {"session": session, "turn": 1})), Reply.text("ok"))
    say("read it", project, env)
    turn = last_result(fake_llm)
    assert "\n<past-turn>\nUser: 为什么部署窗口是周五\nYou called bash " in turn
    assert "giraffe" in turn
    assert "You: ok" in turn
    assert key not in json.dumps(fake_llm.generations[-1].payload)
    assert "Nothing follows." in turn
    fake_llm.script(Reply.calls(("read_history", {"session": session, "turn": 9})), Reply.text("ok"))
    say("read it", project, env)
    assert "has no turn 9" in last_result(fake_llm)
    fake_llm.assert_clean()


@pytest.mark.parametrize("way", ["flag", "config", "small window"])
def test_without_memory_there_is_no_history(way: str, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    write(project / "docs/a.md", DEPLOY)
    config = {
        "config": "memory: {enabled: false}\n",
        "small window": f"models: {{{MODEL}: {{context_window: 15000}}}}\n",
    }
    write(home / ".mewcode/config.yaml", "knowledge: {paths: [docs]}\n" + config.get(way, ""))
    fake_llm.script(Reply.text("ok"))
    say("hi", project, env, *(["--no-memory"] if way == "flag" else []))
    offered = set(tools(fake_llm.generations[0]))
    assert not offered & {"search_history", "read_history", "search_notes"}
    assert "search_docs" in offered


def test_nothing_of_another_workspace_is_found(
    fake_llm: FakeLLM, project: Path, home: Path, tmp_path: Path
) -> None:
    """Two workspaces of one user, each with documents and a session that hold a canary."""
    env = environment(home, anthropic=fake_llm.url)
    other = tmp_path / "other"
    for place, canary in ((project, "CANARYPROJECT"), (other, "CANARYOTHER")):
        write(place / "docs/a.md", f"# 金丝雀\n\n{canary} sings 歌.\n")
        added = run_program(["knowledge", "add", "docs"], cwd=place, env=env)
        assert added.returncode == 0
        fake_llm.script(Reply.text("ok"))
        say(f"{canary} 金丝雀 sings", place, env)
        assert run_program(["knowledge", "rebuild"], cwd=place, env=env).returncode == 0
    for place, own, foreign in (
        (project, "CANARYPROJECT", "CANARYOTHER"),
        (other, "CANARYOTHER", "CANARYPROJECT"),
    ):
        query = "金丝雀 sings CANARYOTHER CANARYPROJECT"
        searches = Reply.calls(docs(query, limit=20), ("search_history", {"query": query, "limit": 25}))
        fake_llm.script(searches, Reply.text("ok"))
        say("look", place, env)
        answers = json.dumps(fake_llm.generations[-1].messages[2:], ensure_ascii=False)
        assert answers.count(own) > 1
        assert foreign not in answers
        shell = run_program(
            ["knowledge", "search", query, "--limit", "50"], cwd=place, env=env
        ).stdout.decode()
        assert own in shell
        assert foreign not in shell


def test_what_a_folder_brought_waits_for_trust(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    """A repository may bring a config that names documents, and sessions that nobody here has held."""
    env = environment(home, anthropic=fake_llm.url)
    fake_llm.script(Reply.text("ok"))
    say("EVIL zebra", project, env)
    (home / ".mewcode/trust.json").unlink()  # another user's machine
    write(project / "notes.md", "zebra\n")
    write(project / ".mewcode/config.yaml", "knowledge: {paths: [notes.md]}\n")
    search = ("search_history", {"query": "zebra"})
    fake_llm.script(Reply.calls(search), Reply.text("ok"))
    done = run_program(["-p", "look", "--model", MODEL], cwd=project, env=env)
    assert b"knowledge is ignored until you trust this folder" in done.stderr
    assert "search_docs" not in tools(fake_llm.generations[1])
    assert "No past session" in last_result(fake_llm)
    fake_llm.script(Reply.calls(search), Reply.text("ok"))
    say("look", project, env, "--trust")
    assert "search_docs" in tools(fake_llm.generations[-1])
    assert "EVIL zebra" in last_result(fake_llm)
