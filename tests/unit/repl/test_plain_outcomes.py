"""What slash commands give, in plain lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from mewcode.agent.session import Session
from mewcode.context.parts import Freeable, Part, Parts
from mewcode.core.outcome import DiffView, TextView, TodoItem, TodoView
from mewcode.repl.commands import (
    Above,
    Aside,
    Clear,
    Compact,
    Compose,
    Copy,
    Later,
    OpenSession,
    Outcome,
    Pick,
    PickSession,
    Quit,
    Resumed,
    Rewound,
    Say,
    Send,
    Shown,
    Table,
    Tables,
    UseTheme,
    WindowUse,
)
from mewcode.repl.panel import Option
from mewcode.repl.plain_outcomes import show_plain
from tests.support.sample_session import hold
from tests.support.scripted_provider import ScriptedProvider, answer

T = TypeVar("T")
TODOS = TodoView((TodoItem("one", "done"), TodoItem("two")))
PARTS = Parts(
    "m", 1_000, (Part("tools", "tools", 200),), 200, 500, 100, 200, 400, 500, 700,
    (Freeable("MCP server x\x1b[2J", 150, "turn it off"),),
)  # fmt: skip
PICK = Pick("which?", (Option("a", "A"),), lambda value: Say(f"took {value}"))


class Guide:
    async def choose(self, title: str, options: Sequence[Option], selected: int = 0) -> str | None:
        return options[selected].value

    async def read(self, folder: Path) -> None:
        raise AssertionError

    async def wait(self, words: str, open_: Callable[[], Awaitable[T]]) -> T | None:
        raise AssertionError

    async def pick_session(self) -> Path | None:
        return Path("/picked")

    async def during(self, words: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        assert words == "doing it"
        return await work()


async def later(fork: bool = False) -> Outcome:
    return Say(f"a copy: {fork}")


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (Say("a", "b\x1b[2J"), "a\nb\n"),
        (Table("t", (("x", "1"),)), "t\nx: 1\n"),
        (Table("t", (("x", "1", "2"),), ("n", "in", "out")), "t\nx: in 1, out 2\n"),
        (Tables((Table("t", (("x", "1"),)), Table("u", (("y", "2"),))), "end"), "t\nx: 1\n\nu\ny: 2\nend\n"),
        (Shown("1 of 2 done", TODOS), "1 of 2 done\ndone: one\nto do: two\n"),
        (Shown("t", TextView("sum\x1b[2J", "body 体")), "t\nsum\\x1b[2J\nbody 体\n"),
        (Shown("t", DiffView("f", "a\n", "b\n")), "t\nf\n"),
        (PICK, "took a\n"),
        (Above(Say("first"), PICK), "first\ntook a\n"),
        (Send("Go."), "sent: Go."),
        (WindowUse(PARTS), "m: 200 of 1,000 tokens (20 %)\n\ntools                        200  20 %\n"),
        (Compact("the names"), "summed up: the names"),
        (Later(later), "a copy: False\n"),
        (Later(later, "doing it"), "a copy: False\n"),
        (PickSession(lambda folder: Say(str(folder))), "/picked\n"),
        (OpenSession(later), "a copy: False\n"),
        (Resumed("resumed: it", "3 messages", ("repaired",)), "resumed: it\n3 messages\nrepaired\n"),
        (Rewound("rewound", "done", "undo", "say\x1b[2J"), "rewound\ndone\nundo\nYour message was:\nsay\n"),
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

    async def send(session: Session, text: str) -> None:
        written.append(f"sent: {text}")

    async def compact(session: Session, keep: str) -> None:
        written.append(f"summed up: {keep}")

    async def scenario(session: Session) -> None:
        wants_out = await show_plain(session, outcome, Guide(), written.append, send, compact)
        assert wants_out is isinstance(outcome, Quit)

    hold(tmp_path, ScriptedProvider(answer("Because.")), scenario, environ={"PATH": "/nonexistent"})
    assert "".join(written).startswith(shown)
