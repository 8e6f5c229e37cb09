"""`mewcode eval memory` against a model that knows only what stands in its requests: what notes bring is
there with memory and not without it, and nothing leaks from a task or a user into another."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.cli import parse, run
from mewcode.core.errors import UsageError
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply
from tests.support.remembering_llm import UNKNOWN, answer_from_notes, note_what_is_told
from tests.unit.eval.test_memory_tasks import TASK, written

TASKS: list[dict[str, Any]] = [
    {**TASK, "id": "first", "told": [["Remember: our staging host is called quokka."]],
     "noise": ["What is WAL mode?"], "ask": "Where does staging run?",
     "expect": ["quokka"], "forbid": ["numbat"]},
    {**TASK, "id": "second", "told": [["Is the staging host up?", "our staging host is called numbat."]],
     "ask": "Where does staging run?", "expect": ["numbat"], "forbid": ["quokka"]},
    {**TASK, "id": "chinese", "lang": "zh", "told": [["记住：灰度环境的主机叫青鸾。"]],
     "ask": "灰度环境在哪台主机？", "expect": ["青鸾"], "forbid": []},
    {**TASK, "id": "moved", "kind": "stale", "ask": "Where does staging run?", "expect": ["wombat"],
     "told": [["Remember: staging runs on quokka."], ["Remember: staging runs on wombat now."]],
     "forbid": ["quokka"]},
    {**TASK, "id": "quiet", "kind": "silent", "told": [["Remember: the code freeze is on 2027-03-12."]],
     "ask": "What is 17 times 23?", "expect": [UNKNOWN], "forbid": ["2027"]},
]  # fmt: skip


@pytest.fixture
def model(fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> FakeLLM:
    """The configured service."""
    fake_llm.respond_with(answer_from_notes)
    fake_llm.extract_with = note_what_is_told
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", fake_llm.url)
    monkeypatch.setenv("MEWCODE_MODEL", "fake-large")
    return fake_llm


@pytest.fixture
def measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Takes tasks and gives the object for scripts."""

    def measure(*tasks: dict[str, Any], code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert run(["eval", "memory", "--dataset", str(written(tmp_path, *tasks)), "--json"]) == code
        value: dict[str, Any] = json.loads(capsys.readouterr().out)
        return value

    return measure


def test_memory_does_what_needs_it_and_nothing_leaks(
    model: FakeLLM, measured: Callable[..., dict[str, Any]]
) -> None:
    found = measured(*TASKS)
    assert list(found) == ["dataset", "model", "arms", "tasks"]
    assert (found["dataset"], found["model"]) == ("tasks.json", "fake-large")
    for task in found["tasks"]:
        assert task["memory"]["done"], task
        assert task["memory"]["error"] == task["plain"]["error"] == ""
        assert task["plain"]["answer"] == UNKNOWN, task
        assert task["plain"]["done"] == (task["id"] == "quiet")
    assert found["tasks"][0]["plain"]["missed"] == ["quokka"]
    done = {arm: {kind: row["done"] for kind, row in rows.items()} for arm, rows in found["arms"].items()}
    assert done == {
        "memory": {"all": 5, "fact": 3, "silent": 1, "stale": 1},
        "plain": {"all": 1, "fact": 0, "silent": 1, "stale": 0},
    }


def test_tokens_are_those_of_all_sessions_and_what_notes_took_is_apart(
    model: FakeLLM, measured: Callable[..., dict[str, Any]]
) -> None:
    """Each answer of the model counts 120 tokens."""
    found = measured(TASKS[0])
    assert len(model.generations) == 6
    assert len(model.extractions) == 2
    assert found["arms"]["memory"]["all"]["tokens"] == 3 * 120
    assert found["arms"]["memory"]["all"]["extraction_tokens"] == 2 * 120
    assert found["arms"]["plain"]["all"]["tokens"] == 3 * 120
    assert found["arms"]["plain"]["all"]["extraction_tokens"] == 0
    for arm in ("memory", "plain"):
        only = found["tasks"][0][arm]
        assert 0 < only["seconds"] < only["total_seconds"]
        assert found["arms"][arm]["fact"] == found["arms"][arm]["all"]


def test_of_the_user_only_service_and_models_are_taken(
    model: FakeLLM, measured: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    user = Path(os.environ["HOME"]) / ".mewcode"
    (user / "memory").mkdir(parents=True)
    (user / "MEWCODE.md").write_text("Always speak of staging as pangolin.", encoding="utf-8")
    (user / "config.yaml").write_text(
        "model: fake-large\nmemory: {model: fake-small, enabled: false, daily_token_limit: 0}\n"
        'permissions: {mode: bypass, allow: ["bash(*)"]}\nsystem_prompt: {append: pangolin}\n',
        encoding="utf-8",
    )
    monkeypatch.delenv("MEWCODE_MODEL")
    assert run(["memory", "add", "--type", "user", "--name", "staging", "staging is pangolin"]) == 0
    before = sorted(path for path in user.parent.rglob("*") if path.is_file())
    found = measured(TASKS[0])
    assert found["tasks"][0]["memory"]["done"]
    assert all(b"pangolin" not in request.body for request in model.requests)
    assert {request.model for request in model.generations if request.tool_names} == {"fake-large"}
    assert {request.model for request in model.extractions} == {"fake-small"}
    kept = [path for path in user.parent.rglob("*") if path.is_file() and path.suffix != ".log"]
    assert sorted(path for path in kept if path not in before) == []
    assert list(Path.cwd().iterdir()) == []


def test_nothing_is_run_and_what_was_told_is_not_read_in_its_files(
    model: FakeLLM, measured: Callable[..., dict[str, Any]]
) -> None:
    asked: list[str] = []

    def look_around(request: RecordedRequest) -> Reply | None:
        text = json.dumps(request.messages, ensure_ascii=False)
        if "Where does" not in text:
            return Reply.text("I see.")
        if "tool_result" in text:
            asked.append(text)
            return Reply.text("unknown")
        return Reply.calls(
            ("bash", {"command": "cat .mewcode/sessions/*/conversation.jsonl"}),
            ("grep", {"pattern": "staging", "path": "."}),
            ("glob", {"pattern": "**/*.jsonl"}),
            ("list_dir", {"path": ".mewcode"}),
        )

    model.respond_with(look_around)
    measured(TASKS[0])
    assert len(asked) == 2
    without = asked[1]
    assert "quokka" not in without
    assert "denies this" in without
    assert "conversation.jsonl:" not in without


def test_a_task_that_fails_is_a_result_and_the_others_go_on(
    model: FakeLLM, measured: Callable[..., dict[str, Any]]
) -> None:
    def refuse_chinese(request: RecordedRequest) -> Reply | None:
        if "灰度" in json.dumps(request.messages, ensure_ascii=False):
            return Reply.error(400, message="no such words here")
        return answer_from_notes(request)

    model.respond_with(refuse_chinese)
    found = measured(TASKS[2], TASKS[0])
    broken, sound = found["tasks"]
    assert "no such words here" in broken["memory"]["error"]
    assert not broken["plain"]["done"]
    assert sound["memory"]["done"]
    assert found["arms"]["memory"]["all"]["errors"] == 1


def test_where_nothing_was_answered_the_exit_code_says_so(
    model: FakeLLM, measured: Callable[..., dict[str, Any]]
) -> None:
    model.api_key = "another"
    found = measured(TASKS[0], code=1)
    assert found["arms"]["plain"]["all"] == {**found["arms"]["plain"]["all"], "n": 1, "done": 0, "errors": 1}


def test_an_interruption_leaves_what_there_was(
    model: FakeLLM, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt_second(request: RecordedRequest) -> Reply | None:
        if "numbat" in json.dumps(request.messages):
            os.kill(os.getpid(), signal.SIGINT)
        return answer_from_notes(request)

    model.respond_with(interrupt_second)
    path = written(tmp_path, *TASKS)
    assert run(["eval", "memory", "--dataset", str(path), "--json"]) == 130
    told = capsys.readouterr()
    assert [task["id"] for task in json.loads(told.out)["tasks"]] == ["first"]
    assert "interrupted after 1 of 5 tasks" in told.err


def test_the_table_tells_both_arms_and_what_memory_won(
    model: FakeLLM, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, TASKS[0], TASKS[4])
    assert run(["eval", "memory", "--dataset", str(path), "--only", "fact", "--limit", "3"]) == 0
    told = capsys.readouterr()
    for words in ("with memory", "without memory", "for notes", "done with memory alone: 1\n  first"):
        assert words in told.out
    assert "silent" not in told.out
    assert "at least 8 requests to anthropic, fake-large" in told.err
    assert "[1/1] first: with memory done, without missed" in told.err


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 1)])
def test_who_sits_at_a_terminal_is_asked_first(
    typed: str, code: int, model: FakeLLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin.readline", lambda: typed, raising=False)
    assert run(["eval", "memory", "--dataset", str(written(tmp_path, TASKS[0]))]) == code
    assert bool(model.generations) == (code == 0)


def test_without_a_service_it_is_told_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "memory", "--dataset", str(written(tmp_path, *TASKS)), "--yes"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "mewcode:" in told.err


def test_a_flag_says_which_model(model: FakeLLM, tmp_path: Path) -> None:
    path = written(tmp_path, TASKS[0])
    assert run(["eval", "memory", "--dataset", str(path), "--model", "fake-small", "--yes"]) == 0
    assert {request.model for request in model.generations} == {"fake-small"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["memory", "--split", "tune"], "--split"),
        (["memory", "--only", "other"], "other"),
        (["memory", "--limit", "0"], "at least 1"),
        (["recall", "--dataset", "x", "--yes"], "--yes"),
        (["recall", "--dataset", "x", "--model", "x"], "--model"),
    ],
)
def test_each_word_takes_its_own_flags(arguments: list[str], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        parse(["eval", *arguments])
