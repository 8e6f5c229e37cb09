"""`mewcode sessions import`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mewcode.cli import parse
from mewcode.config.trust import TrustStore
from mewcode.core.errors import UsageError
from mewcode.infra.paths import find_places
from mewcode.session_commands.run import run_sessions
from mewcode.sessions.reader import load_session
from tests.support.foreign_sessions import (
    CLAUDE,
    CLAUDE_ID,
    CODEX,
    KIMI,
    KIMI_ID,
    KIMI_WIRE,
    claude_said,
    codex,
    codex_said,
    jsonl,
)


@pytest.fixture
def run(tmp_path, capsys):
    """Runs a word in a project of its own: exit code, what it printed, what it said beside."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}

    def call(*words: str):
        code = run_sessions(parse(["sessions", *words]), environ, find_places(tmp_path / "project", environ))
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words else out, err

    return call


def put(path: Path, *values) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*values))
    return path


def test_without_a_file_it_says_where_they_usually_lie(run, tmp_path):
    with pytest.raises(UsageError) as caught:
        run("import")
    for place in ("~/.claude/projects", "~/.codex/sessions", "~/.kimi/sessions"):
        assert place in str(caught.value)
    with pytest.raises(UsageError, match="takes no --repair"):
        run("import", "x", "--repair")
    with pytest.raises(UsageError, match="takes no --again"):
        run("list", "--again")
    assert not (tmp_path / "project" / ".mewcode").exists()


def test_a_file_becomes_a_session_of_this_project(run, tmp_path):
    put(tmp_path / "project" / "x.jsonl", *CLAUDE)
    code, value, err = run("import", "x.jsonl", "--json")
    assert (code, err) == (0, "")
    [found] = value
    assert (found["status"], found["source"], found["original"], found["messages"]) == (
        "imported", "claude-code", CLAUDE_ID, 4,
    )  # fmt: skip
    [listed] = run("list", "--json")[1]
    assert (listed["id"], listed["title"], listed["messages"]) == (found["session"], "Parser 修复", 4)
    assert (listed["updated"], listed["tokens"], listed["cost_usd"]) == (1_767_323_046.5, 0, 0.0)
    loaded = load_session(tmp_path / "project" / ".mewcode" / "sessions" / found["session"])
    store = TrustStore(tmp_path / "home" / ".mewcode")
    assert store.is_sealed(tmp_path / "project", loaded.id, loaded.seal)
    assert (tmp_path / "project" / ".mewcode" / ".gitignore").is_file()
    assert [hit["session"] for hit in run("search", "解析器", "--json")[1]] == [found["session"]]


def test_the_same_once_more_only_on_request(run, tmp_path):
    path = str(put(tmp_path / "x.jsonl", *CLAUDE))
    first = run("import", path, path, "--json")[1]
    assert [found["status"] for found in first] == ["imported", "present"]
    code, out, _ = run("import", path)
    assert code == 0
    assert out.startswith(f"{first[0]['session']}  is here already")
    assert len(run("list", "--json")[1]) == 1
    assert run("import", path, "--again", "--json")[1][0]["status"] == "imported"
    assert len(run("list", "--json")[1]) == 2
    for listed in run("list", "--json")[1]:
        run("delete", listed["id"])
    assert run("import", path, "--json")[1][0]["status"] == "imported"


def test_a_folder_with_sessions_of_all_three(run, tmp_path):
    place = tmp_path / "away"
    path = put(place / "claude" / "a.jsonl", *CLAUDE, {"type": "odd"})
    path.write_bytes(path.read_bytes() + b"junk\n")
    put(place / "claude" / "agent.jsonl", {**claude_said(1, None, "aside"), "isSidechain": True})
    put(place / "codex" / "b.jsonl", *CODEX)
    meta = {"id": "sub", "source": {"subagent": "review"}}
    put(place / "codex" / "c.jsonl", codex(0, "session_meta", meta), codex_said(1, "aside"))
    put(place / KIMI_ID / "context.jsonl", *KIMI)
    put(place / KIMI_ID / "wire.jsonl", *KIMI_WIRE)
    put(place / "package.json", {"name": "x"})
    code, value, err = run("import", str(place), "--json")
    assert code == 0
    assert [(found["source"], found["status"], found["skipped"]) for found in value] == [
        ("kimi", "imported", 0), ("claude-code", "imported", 1), ("codex", "imported", 0),
    ]  # fmt: skip
    assert "3 sessions, 3 other files left alone" in err
    out = run("import", str(place), "--again")[1]
    assert "5 messages, from" in out
    assert "1 unreadable line left out" in out


def test_what_cannot_be_imported_is_told(run, tmp_path):
    good = put(tmp_path / "a\x1b[31m.jsonl", *CODEX)
    other = put(tmp_path / "b.jsonl", {"name": "x"})
    empty = put(tmp_path / "c.jsonl", *KIMI[:2])
    code, value, err = run("import", str(other), str(empty), str(tmp_path / "none"), str(good), "--json")
    assert code == 1
    assert [found["status"] for found in value] == ["failed", "failed", "failed", "imported"]
    assert "no session file of a kind that is known" in err
    assert "nothing was said in it" in err
    assert "No such file" in err
    code, out, err = run("import", str(tmp_path / "project"), str(good))
    assert (code, "\x1b" in out + err) == (0, False)
    assert "0 sessions, 0 other files left alone" in err


def test_an_export_of_another_project_comes_in(run, tmp_path, capsys):
    run("import", str(put(tmp_path / "x.jsonl", *CLAUDE)))
    [there] = run("list", "--json")[1]
    run("export", there["id"], "--format", "json", "--with-secrets", "--output", "e.json")
    code, value, _ = run("import", "e.json", "--json")
    assert (code, value[0]["status"], value[0]["session"]) == (0, "present", there["id"])
    again = run("import", "e.json", "--again", "--json")[1][0]
    sessions = tmp_path / "project" / ".mewcode" / "sessions"
    assert load_session(sessions / again["session"]).messages == load_session(sessions / there["id"]).messages
