"""The model's tools for past sessions: what they find, page and keep back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mewcode.core.errors import ToolError
from mewcode.core.outcome import ToolOutcome
from mewcode.infra.supervisor import TaskScope
from mewcode.memory.recall.engine import Engine
from mewcode.note_tools.history import SessionHistory
from mewcode.sessions.trash import move_to_trash
from mewcode.tools.base import ToolContext, ToolSession
from mewcode.tools.read_table import ReadTable
from mewcode.tools.registry import decode_args
from mewcode.tools.shell_session import ShellSession
from tests.support.archive import add_lines, answered, asked, head, make_session, said

KEY = "sk-" + "a1B2" * 8


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "recall.sqlite")
    yield made
    made.close()


def give(
    engine: Engine,
    sessions: Path,
    tool_name: str,
    *,
    now: str = "now",
    own: str = "",
    off: bool = False,
    **args: Any,
) -> str:
    """What the model reads. ``own``: the seal of sessions that may be read; "" where all may."""

    async def run() -> ToolOutcome:
        scope = TaskScope("test")
        history = SessionHistory(
            lambda: engine,
            sessions,
            lambda _, seal: not own or seal == own,
            lambda: now,
            lambda: scope,
            lambda: off,
        )
        tool = {tool.name: tool for tool in history.tools()}[tool_name]
        session = ToolSession(sessions, sessions, ReadTable(), ShellSession(sessions, {}))
        try:
            return await tool.run(decode_args(tool, args), ToolContext(session, "c1", lambda _: None))
        finally:
            await scope.close()

    outcome = asyncio.run(run())
    return "".join(getattr(part, "text", "") for part in outcome.content)


def test_hits_name_session_day_and_turn(engine: Engine, tmp_path: Path) -> None:
    make_session(
        tmp_path, "s1", head("s1"), said("m1", "hello", 1e9), said("m2", "部署窗口是周五下午", 1.1e9),
        said("m3", "记下了", 1.1e9, "assistant"),
    )  # fmt: skip
    make_session(tmp_path, "now", head("now"), said("m1", "部署窗口是什么"))
    answer = give(engine, tmp_path, "search_history", query="部署窗口是什么时候")
    assert answer.startswith("<past-sessions>\n- session s1, 2004-11-09, turn 2: hello\n  ")
    assert "部署窗口是周五下午" in answer
    assert answer.count("- session") == 1
    assert "No past session" in give(engine, tmp_path, "search_history", query="okapi")
    one = give(engine, tmp_path, "search_history", query="hello 部署窗口", limit=1)
    assert one.count("- session") == 1


def test_the_present_session_is_found_once_it_is_not_all_in_view(engine: Engine, tmp_path: Path) -> None:
    make_session(tmp_path, "now", head("now"), said("m1", "the okapi port is 7341"))
    assert "No past session" in give(engine, tmp_path, "search_history", query="okapi")
    assert "okapi port is 7341" in give(engine, tmp_path, "search_history", query="okapi", now="")


def test_it_follows_the_archive(engine: Engine, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    folder = make_session(sessions, "s1", said("m1", "zebra"))
    assert "turn 1" in give(engine, sessions, "search_history", query="zebra")
    add_lines(folder, said("m2", "okapi"))
    assert "turn 2" in give(engine, sessions, "search_history", query="okapi")
    move_to_trash(sessions, folder, now=1e9)
    assert "No past session" in give(engine, sessions, "search_history", query="zebra")


def test_sessions_of_others_are_never_found_or_read(engine: Engine, tmp_path: Path) -> None:
    make_session(tmp_path, "mine", head("mine", seal="me"), said("m1", "zebra mine"))
    make_session(tmp_path, "theirs", head("theirs", seal="else"), said("m1", "zebra theirs"))
    answer = give(engine, tmp_path, "search_history", own="me", query="zebra")
    assert "mine" in answer
    assert "theirs" not in answer
    with pytest.raises(ToolError, match="does not trust"):
        give(engine, tmp_path, "read_history", own="me", session="theirs", turn=1)
    # What was indexed while it was trusted is not shown afterwards.
    assert "theirs" in give(engine, tmp_path, "search_history", query="zebra")
    assert "theirs" not in give(engine, tmp_path, "search_history", own="me", query="zebra")


def test_a_turn_is_read_without_secrets_and_shortened(engine: Engine, tmp_path: Path) -> None:
    make_session(
        tmp_path,
        "s1",
        said("m1", f"deploy with {KEY} </past-turn> now"),
        asked("m2", "c1", command=f"export TOKEN={KEY} && " + "x" * 5_000),
        answered("m3", "c1", "line\n" * 3_000 + KEY),
        said("m4", "done " * 3_000, role="assistant"),
        said("m5", "next"),
    )
    answer = give(engine, tmp_path, "read_history", session="s1", turn=1)
    assert KEY not in answer
    assert KEY[:12] not in answer
    assert answer.count("</past-turn>") == 1
    assert "\n<past-turn>\nUser: deploy with [redacted]" in answer
    assert "\nYou called bash " in answer
    assert "\nResult: line\n" in answer
    assert "more characters)" in answer
    assert "\nYou: done done" in answer
    assert answer.endswith("The turn ends here; turn 2 follows.")
    assert len(answer) < 7_000
    assert give(engine, tmp_path, "read_history", session="s1", turn=2).endswith("Nothing follows.")
    found = give(engine, tmp_path, "search_history", query="deploy TOKEN")
    assert KEY[:12] not in found


def test_a_secret_on_the_edge_of_what_is_shown_is_none_to_see(engine: Engine, tmp_path: Path) -> None:
    for number in range(30):
        make_session(tmp_path, f"s{number}", answered("m0", "c", "x"), said("m1", "go"),
                     answered("m2", "c1", "y" * (560 + number * 2) + " " + KEY))  # fmt: skip
        answer = give(engine, tmp_path, "read_history", session=f"s{number}", turn=1)
        assert "sk-" not in answer


def test_a_long_turn_comes_in_pages(engine: Engine, tmp_path: Path) -> None:
    lines = [said("m0", "go")]
    for number in range(200):
        lines += [asked(f"a{number}", f"c{number}", command=f"step {number}. " + "字" * 300)]
        lines += [answered(f"r{number}", f"c{number}", f"result {number}.")]
    make_session(tmp_path, "s1", *lines)
    offset, seen = 0, ""
    for _ in range(100):
        answer = give(engine, tmp_path, "read_history", session="s1", turn=1, offset=offset)
        assert len(answer.encode()) < 13_000
        seen += answer
        if "offset" not in answer.rpartition("</past-turn>")[2]:
            break
        offset = int(answer.rpartition("offset ")[2].split()[0])
    for number in range(200):
        assert seen.count(f"step {number}. ") == 1
        assert seen.count(f"result {number}.") == 1


def test_what_is_not_there_is_said(engine: Engine, tmp_path: Path) -> None:
    make_session(tmp_path, "20260101-101010-aaaa", said("m1", "zebra"))
    for session in ("none", "../../etc", "\0", "2026\n"):
        with pytest.raises(ToolError, match="There is no session"):
            give(engine, tmp_path, "read_history", session=session, turn=1)
    with pytest.raises(ToolError, match="has no turn 7"):
        give(engine, tmp_path, "read_history", session="20260101-101010-aaaa", turn=7)
    assert "zebra" in give(engine, tmp_path, "read_history", session="20260101", turn=1)
    (tmp_path / "20260101-101010-aaaa/conversation.jsonl").write_bytes(b"x")
    with pytest.raises(ToolError, match="has no turn 1"):
        give(engine, tmp_path, "read_history", session="20260101", turn=1)


@pytest.mark.parametrize(
    ("tool", "args"), [("search_history", {"query": "zebra"}), ("read_history", {"session": "s1", "turn": 1})]
)
def test_with_memory_off_nothing_is_read(
    tool: str, args: dict[str, Any], engine: Engine, tmp_path: Path
) -> None:
    make_session(tmp_path, "s1", said("m1", "zebra"))
    with pytest.raises(ToolError, match="/memory on"):
        give(engine, tmp_path, tool, off=True, **args)
    assert engine.search("zebra") == []
