"""What slash commands give, in plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mewcode.agent.session import Session
from mewcode.core.outcome import TodoItem, TodoView
from mewcode.repl.commands import (
    Aside,
    Clear,
    Compose,
    Copy,
    Outcome,
    Pick,
    Quit,
    Say,
    Shown,
    Table,
    Tables,
    UseTheme,
)
from mewcode.repl.panel import Option
from mewcode.repl.plain_outcomes import show_plain
from tests.support.sample_session import hold
from tests.support.scripted_provider import ScriptedProvider, answer

TODOS = TodoView((TodoItem("one", "done"), TodoItem("two")))
PICK = Pick("which?", (Option("a", "A"),), lambda value: Say(f"took {value}"))


class Chooser:
    async def choose(self, title: str, options: Sequence[Option], selected: int = 0) -> str | None:
        return options[selected].value


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (Say("a", "b\x1b[2J"), "a\nb\n"),
        (Table("t", (("x", "1"),)), "t\nx: 1\n"),
        (Table("t", (("x", "1", "2"),), ("n", "in", "out")), "t\nx: in 1, out 2\n"),
        (Tables((Table("t", (("x", "1"),)), Table("u", (("y", "2"),))), "end"), "t\nx: 1\n\nu\ny: 2\nend\n"),
        (Shown("1 of 2 done", TODOS), "1 of 2 done\ndone: one\nto do: two\n"),
        (PICK, "took a\n"),
        (Copy("text", "the last answer"), "no program for the clipboard is there\n"),
        (Aside("why?"), "btw: Because.\n"),
        (UseTheme("dark", "kept"), "plain lines have no colours\nkept\n"),
        (Compose("x"), "plain lines have no editor\n"),
        (Clear(), "a new conversation: "),
        (Quit(), ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_outcome_has_its_lines(outcome: Outcome, shown: str, tmp_path: Path) -> None:
    written: list[str] = []

    async def scenario(session: Session) -> None:
        assert await show_plain(session, outcome, Chooser(), written.append) is isinstance(outcome, Quit)

    hold(tmp_path, ScriptedProvider(answer("Because.")), scenario, environ={"PATH": "/nonexistent"})
    assert "".join(written).startswith(shown)
