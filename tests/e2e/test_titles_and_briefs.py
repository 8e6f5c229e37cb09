"""What goes on beside a session, in the real program: titles, briefs, the daily upkeep."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mewcode.sessions.retention import DAY
from mewcode.sessions.upkeep import STAMP_FILE
from tests.support.adverse import Start, ask, files_of, leave, ready, records
from tests.support.archive import head, make_session, said
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import environment, run_program


def listed(project: Path, home: Path) -> list[dict[str, Any]]:
    done = run_program(["sessions", "list", "--json"], cwd=project, env=environment(home))
    assert done.returncode == 0, done.stderr.decode()
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def of_type(path: Path, kind: str) -> list[dict[str, object]]:
    return [record for record in records(path) if record.get("type") == kind]


def system_of(fake_llm: FakeLLM, number: int) -> str:
    return json.dumps(fake_llm.generations[number].payload["system"], ensure_ascii=False)


def talk(start: Start, fake_llm: FakeLLM, count: int, seen: Callable[[], bool] | None = None) -> None:
    fake_llm.script(*(Reply.text(f"Answer number {number}.") for number in range(count)))
    terminal = start()
    for number in range(count):
        ask(terminal, f"修复 parser {number}")
        terminal.wait_for(f"Answer number {number}.")
    if seen is not None:
        terminal.wait_until(seen, "what was waited for")
    leave(terminal)


def test_a_title_and_a_brief_and_the_next_session_is_told(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    fake_llm.aside = Reply.text("修复 the parser")
    talk(start, fake_llm, 3, lambda: len(fake_llm.side_calls) == 1)
    [path] = files_of(project)
    [title] = of_type(path, "title")
    assert (title["title"], title["auto"]) == ("修复 the parser", True)
    assert len(of_type(path, "brief")) == 1
    [item] = listed(project, home)
    assert item["title"] == "修复 the parser"
    fake_llm.script(Reply.text("Hello again."))
    terminal = start()
    ask(terminal, "hello")
    terminal.wait_for("Hello again.")
    leave(terminal)
    assert "Recent sessions" not in system_of(fake_llm, 0)
    system = system_of(fake_llm, 3)
    assert "# Recent sessions (for reference; the project may have changed since)" in system
    assert "修复 the parser" in system


def test_where_the_model_says_nothing_the_brief_says_what_was_asked(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    talk(start, fake_llm, 3)
    [path] = files_of(project)
    [brief] = of_type(path, "brief")
    assert brief["by"] == ""
    assert "修复 parser 0" in str(brief["text"])
    assert of_type(path, "title") == []
    assert listed(project, home)[0]["title"] == "修复 parser 0"


def test_headless_runs_ask_for_nothing_more(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    for number in range(3):
        fake_llm.script(Reply.text("Done."))
        again = ["-c"] if number else []
        done = run_program(
            [*again, "-p", f"step {number}", "--model", "claude-opus-5-5"], cwd=project, env=env
        )
        assert done.returncode == 0, done.stderr.decode()
    assert fake_llm.side_calls == []
    [path] = files_of(project)
    assert [brief["by"] for brief in of_type(path, "brief")] == [""]
    fake_llm.script(Reply.text("Done."))
    assert run_program(["-p", "new", "--model", "claude-opus-5-5"], cwd=project, env=env).returncode == 0
    assert "step 0. Asked: step 1; step 2." in system_of(fake_llm, 3)
    systems = {system_of(fake_llm, number) for number in range(3)}
    assert len(systems) == 1, "a continued session keeps its prompt"


def test_switched_off_by_the_config(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("sessions: {titles: false, briefs: false, prune: false}\n")
    talk(start, fake_llm, 3)
    [path] = files_of(project)
    assert fake_llm.side_calls == []
    assert of_type(path, "title") == of_type(path, "brief") == []
    terminal = start()
    ask(terminal, "/status")
    terminal.wait_for("sessions.prune is off")
    leave(terminal)


def test_old_sessions_go_to_the_trash_by_themselves(start: Start, project: Path, home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("sessions: {keep_last: 1}\n")
    sessions = project / ".mewcode/sessions"
    for name, days in (("20260101-120000-aaaa", 40), ("of an older naming", 50), ("newest", 1)):
        ts = time.time() - days * DAY
        make_session(sessions, name, head(name, ts=ts), said("a", "hi", ts=ts), mtime=ts)
    terminal = start(rows=50, columns=160)
    ready(terminal)
    stamp = project / ".mewcode" / STAMP_FILE
    terminal.wait_until(stamp.exists, "the daily upkeep", 40.0)
    assert sorted(path.name for path in sessions.iterdir()) == ["newest", "trash"]
    ask(terminal, "/status")
    terminal.wait_for("2 moved to the trash today, kept 1; mewcode sessions restore brings them back")
    leave(terminal)
    terminal = start(rows=50, columns=160)
    ask(terminal, "/status")
    terminal.wait_for("2 moved to the trash today")
    leave(terminal)
    env = environment(home)
    done = run_program(["sessions", "restore", "of an older"], cwd=project, env=env)
    assert done.returncode == 0, done.stderr.decode()
    assert (sessions / "of an older naming").is_dir()
