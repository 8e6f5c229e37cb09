"""What is left on the screen by a session that was left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.adverse import Start, ask, files_of, leave, ready, screen
from tests.support.fake_llm import FakeLLM, Reply


@pytest.mark.parametrize("plain", [(), ("--plain",)])
def test_who_leaves_is_told_how_to_go_on(
    start: Start, fake_llm: FakeLLM, project: Path, plain: tuple[str, ...]
) -> None:
    fake_llm.script(Reply.text("Hello yourself."))
    terminal = start(*plain, "hello there")
    terminal.wait_for("Hello yourself.")
    if plain:
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
    else:
        ready(terminal)
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    [path] = files_of(project)
    assert screen(terminal).rstrip().endswith(f"mewcode -r {path.parent.name} goes on with this session")


def test_nothing_is_said_where_nothing_was_said(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    terminal = start()
    ask(terminal, "/status")
    terminal.wait_for("workspace")
    leave(terminal)
    assert "goes on with" not in "\n".join(terminal.history())
