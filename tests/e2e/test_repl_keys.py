"""Keys that other tests take for granted: completion of commands, the modes, the ways to a new line."""

from __future__ import annotations

import pytest

from tests.support.adverse import Start, leave, ready
from tests.support.fake_llm import FakeLLM, Reply

SIZES = [(24, 80), (50, 200)]


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_commands_and_their_arguments_are_completed_with_a_description(
    start: Start, fake_llm: FakeLLM, rows: int, columns: int
) -> None:
    terminal = start(rows=rows, columns=columns)
    ready(terminal)
    terminal.send("/mo")
    terminal.wait_for_screen("show or change the permission mode")
    terminal.wait_for_screen("show or change the model")
    terminal.send("d\t")
    terminal.wait_for_screen("❯ /mod")
    terminal.send("\x1b")
    terminal.wait_gone("show or change the model")
    terminal.send("\x03")
    terminal.wait_gone("/mod")
    terminal.send("/mode acc")
    terminal.wait_for_screen("accept-edits")
    terminal.send("\t")
    terminal.wait_for_screen("❯ /mode accept-edits")
    # The first Enter takes what is completed, the second gives the command.
    terminal.send("\r\r")
    terminal.wait_for("mode: accept-edits")
    assert fake_llm.generations == []
    leave(terminal)


def test_shift_tab_goes_through_the_modes(start: Start) -> None:
    terminal = start()
    ready(terminal)
    terminal.wait_for_screen("· default")
    for mode in ("accept-edits", "plan", "default"):
        terminal.send("\x1b[Z")
        terminal.wait_for_screen(f"· {mode}")
    leave(terminal)


@pytest.mark.parametrize("newline", ["\n", "\x1b\r", "\\\r"], ids=["ctrl-j", "alt-enter", "backslash"])
def test_a_new_line_is_not_sent(start: Start, fake_llm: FakeLLM, newline: str) -> None:
    fake_llm.script(Reply.text("Two lines."))
    terminal = start()
    ready(terminal)
    terminal.send(f"one{newline}")
    terminal.send("two\r")
    terminal.wait_for("Two lines.")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == "one\ntwo"
    leave(terminal)
