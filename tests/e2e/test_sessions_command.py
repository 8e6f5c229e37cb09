"""`mewcode sessions` as a script uses it, with sessions that the program itself has written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.adverse import MODEL
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.foreign_sessions import CLAUDE, CODEX, KIMI, jsonl
from tests.support.program import environment, run_program

Ask = Callable[..., Any]


@pytest.fixture
def ask(project: Path, home: Path) -> Ask:
    """Runs a word; its JSON, or with ``raw`` the finished process."""

    def call(*words: str, raw: bool = False) -> Any:
        done = run_program(
            ["sessions", *words, *([] if raw else ["--json"])], cwd=project, env=environment(home)
        )
        if raw:
            return done
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return call


@pytest.fixture
def ids(fake_llm: FakeLLM, project: Path, home: Path, ask: Ask) -> list[str]:
    """Two sessions of the program's own, the newest first."""
    for prompt, answer in (("fix the parser", "the parser is mended"), ("写文档", "文档写好了")):
        fake_llm.script(Reply.text(answer))
        env = environment(home, anthropic=fake_llm.url)
        done = run_program(["-p", prompt, "--model", MODEL], cwd=project, env=env)
        assert done.returncode == 0, done.stderr.decode()
    return [item["id"] for item in ask("list")]


def test_find_and_name(ask: Ask, ids: list[str], fake_llm: FakeLLM, project: Path, home: Path) -> None:
    new, old = ids
    listed = {item["id"]: item for item in ask("list")}
    assert [listed[name]["title"] for name in ids] == ["写文档", "fix the parser"]
    assert all(item["messages"] == 2 and item["updated"] > 1e9 for item in listed.values())
    hits = ask("search", '"parser is"')
    assert [(hit["session"], hit["turn"], hit["role"]) for hit in hits] == [(old, 1, "assistant")]
    assert {hit["session"] for hit in ask("search", "文档")} == {new}
    ask("rename", old, "Parser fix")
    assert ask("show", "parser FIX")["title"] == "Parser fix"
    ask("pin", old)
    assert ask("tag", old, "bug")["tags"] == ["bug"]
    assert ask("untag", old, "bug")["tags"] == []
    ask("unpin", old)
    # To name and pin a session is to work in none: the newest is still the newest.
    fake_llm.script(Reply.text("more docs"))
    env = environment(home, anthropic=fake_llm.url)
    assert run_program(["-c", "-p", "go on", "--model", MODEL], cwd=project, env=env).returncode == 0
    assert ask("list")[0]["id"] == new
    # And its name continues it.
    fake_llm.script(Reply.text("once more"))
    done = run_program(["-r", "parser fix", "-p", "again", "--model", MODEL], cwd=project, env=env)
    assert done.returncode == 0, done.stderr.decode()
    listed = {item["id"]: item for item in ask("list")}
    assert (listed[old]["messages"], listed[old]["title"]) == (4, "Parser fix")


def test_remove_and_bring_back(ask: Ask, ids: list[str]) -> None:
    new, old = ids
    ask("delete", new)
    assert [item["id"] for item in ask("list")] == [old]
    assert ask("search", "文档") == []
    assert [item["id"] for item in ask("restore")] == [new]
    ask("restore", new)
    assert {hit["session"] for hit in ask("search", "文档")} == {new}
    done = ask("delete", "../../etc", raw=True)
    assert done.returncode == 1
    assert b"no session" in done.stderr


def test_keep(ask: Ask, ids: list[str], project: Path) -> None:
    path = project / ".mewcode" / "sessions" / ids[0] / "conversation.jsonl"
    with path.open("ab") as stream:
        stream.write(b'{"role":"user","con')
    assert ask("check", raw=True).returncode == 1
    assert ask("check", "--repair")[0]["sound"] is True
    assert [item["sound"] for item in ask("check")] == [True, True]
    assert ask("prune")["trashed"] == []
    assert ask("usage")["sessions"] == 2
    assert ask("rebuild")["messages"] == 4
    assert ask("export", ids[1])["id"] == ids[1]
    page = ask("export", ids[1], "--format", "html", raw=True)
    assert b"the parser is mended" in page.stdout
    assert "## You" in ask("export", ids[1], raw=True).stdout.decode()


def test_a_person_gets_lines(ask: Ask, ids: list[str]) -> None:
    lines = ask("list", raw=True).stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ids
    assert ask("list", "--repair", raw=True).returncode == 2


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_what_was_imported_is_continued(
    ask: Ask, fake_llm: FakeLLM, project: Path, home: Path, protocol: str
) -> None:
    sources = {
        "claude": (CLAUDE, "修复解析器"),
        "codex": (CODEX, "add a test"),
        "kimi": (KIMI, "读一下 README"),
    }
    for name, (values, _) in sources.items():
        (project / "old").mkdir(exist_ok=True)
        (project / "old" / f"{name}.jsonl").write_bytes(jsonl(*values[:-1]))
    imported = {Path(item["path"]).stem: item["session"] for item in ask("import", "old")}
    url = fake_llm.url if protocol == "anthropic" else f"{fake_llm.url}/v1"
    env = environment(home, **{protocol: url})
    for name, (_, first) in sources.items():
        fake_llm.script(Reply.text("I go on"))
        done = run_program(["-r", imported[name], "-p", "go on", "--model", MODEL], cwd=project, env=env)
        assert (done.returncode, done.stdout) == (0, b"I go on\n"), done.stderr.decode()
        assert first in json.dumps(fake_llm.requests[-1].json, ensure_ascii=False)
    assert {item["status"] for item in ask("import", "old")} == {"present"}
