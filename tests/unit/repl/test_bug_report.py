"""The report of `/bug`: what it holds, and what it does not."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from mewcode._version import __version__
from mewcode.agent.session import Session
from mewcode.repl import bug_report
from mewcode.repl.bug_report import last_errors
from mewcode.repl.commands import Desk, Say, builtin_commands
from tests.support.sample_session import hold, project_in, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call

KEY = "sk-" + "ant-api03-" + "aB3" * 12


async def written(session: Session, line: str = "/bug") -> str:
    outcome = await builtin_commands().run(Desk(session, "dark", 80, 24), line)
    assert isinstance(outcome, Say)
    path = Path(outcome.text.rpartition(" ")[2])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    return path.read_text("utf-8")


def test_what_helps_is_there_and_nothing_that_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_in(tmp_path)
    log = tmp_path / "mewcode.log"
    log.write_text(f"2026-11-30 10:00:00,000 1 ERROR mewcode.x: failed with {KEY}\n  File a.py\n")
    monkeypatch.setattr(bug_report, "log_path", lambda: log)
    config = tmp_path / "home/.mewcode/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(
        "providers:\n  mine:\n    base_url: https://me:hunter2@host/v1\n    headers: {X-Key: opensesame}\n"
    )

    async def scenario(session: Session) -> None:
        await take_turn(session, "my password is swordfish")
        text = await written(session)
        for expected in (
            f"- mewcode: {__version__}",
            "- python: 3.",
            "- platform: ",
            "- TERM: xterm-test",
            "- TMUX: yes",
            "- size: 80 by 24",
            "- model: sample-model",
            "providers.mine.base_url",
            "config.yaml:3",
            "ERROR mewcode.x: failed with [redacted]",
            "File a.py",
            "messages: 1 of model, 1 of user",
        ):
            assert expected in text, expected
        for secret in (
            "swordfish",
            "hello there",
            KEY,
            "hunter2",
            "opensesame",
            "/tmp/tmux",
            str(tmp_path / "home"),
        ):
            assert secret not in text, secret

    hold(
        tmp_path,
        ScriptedProvider(answer("hello there")),
        scenario,
        environ={"TERM": "xterm-test", "TMUX": "/tmp/tmux", "ANTHROPIC_API_KEY": KEY},
    )


def test_with_the_conversation_secrets_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bug_report, "log_path", lambda: tmp_path / "nowhere")
    kept = "odd-but-known-secret"
    todo = call("todo", {"items": [{"text": "look at ```this```"}]})

    async def scenario(session: Session) -> None:
        await take_turn(session, f"use {KEY} and {kept} please")
        text = await written(session, "/bug --with-conversation")
        assert "please" in text
        assert "hello there" in text
        assert "look at ```this```" in text
        assert KEY not in text
        assert kept not in text
        assert isinstance(await builtin_commands().run(Desk(session), "/bug me"), Say)

    hold(
        tmp_path,
        ScriptedProvider(answer(todo), answer("hello there")),
        scenario,
        environ={"OPENAI_API_KEY": kept},
    )


def test_only_errors_and_what_belongs_to_them(tmp_path: Path) -> None:
    log = tmp_path / "log"
    date = "2026-11-30 10:00:00,000 77"
    log.write_text(
        f"{date} INFO mewcode.a: ok\n{date} ERROR mewcode.b: bad\n  at line 1\n{date} INFO mewcode.a: ok\n"
        f"{date} WARNING mewcode.c: hm\n"
    )
    assert last_errors(log) == [
        f"{date} ERROR mewcode.b: bad",
        "  at line 1",
        f"{date} WARNING mewcode.c: hm",
    ]
    log.write_bytes(b"\xff\n" + f"{date} {logging.getLevelName(40)} mewcode.b: x\n".encode() * 10_000)
    assert len(last_errors(log)) == 80
    assert last_errors(tmp_path / "none") == []


def test_where_it_cannot_be_written_it_says_so(tmp_path: Path) -> None:
    project_in(tmp_path)
    reports = tmp_path / "home/.mewcode/reports"
    reports.parent.mkdir(parents=True)
    reports.write_text("no folder")

    async def scenario(session: Session) -> None:
        outcome = await builtin_commands().run(Desk(session, "dark", 80, 24), "/bug")
        assert isinstance(outcome, Say)
        assert "cannot be written" in outcome.text
        assert outcome.hint

    hold(tmp_path, ScriptedProvider(), scenario)
