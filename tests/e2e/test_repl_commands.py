"""Slash commands in a pseudo terminal: each shows what it should, at once where it need not wait."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, no_traceback, ready, screen
from tests.support.fake_llm import FakeLLM, Gate, Reply, text, tool_call
from tests.support.terminal import Terminal

SIZES = [(24, 80), (50, 200)]


def shown(terminal: Terminal) -> str:
    return "\n".join(terminal.history())


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_help_status_cost_config_and_permissions(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    fake_llm.script(Reply.text("Done."))
    terminal = start("--allow", "bash(ls *)", rows=rows, columns=columns)
    ask(terminal, "do it")
    terminal.wait_for("Done.")
    ask(terminal, "/help")
    terminal.wait_for("shift-tab")
    for group in ("session", "model", "permissions", "settings", "keys"):
        assert any(line.strip() == group for line in terminal.history()), group
    ask(terminal, "/status")
    terminal.wait_for(f"{columns} columns by {rows} rows")
    all_of_it = shown(terminal)
    for part in (fake_llm.url, "anthropic (anthropic)", "not trusted", "flag --model"):
        assert part in all_of_it, part
    ask(terminal, "/cost")
    terminal.wait_for("this week, in this folder")
    assert "cached" in shown(terminal)
    ask(terminal, "/config permissions")
    terminal.wait_for("permissions.mode")
    ask(terminal, "/permissions deny web_fetch")
    terminal.wait_for("denied for this session: web_fetch")
    ask(terminal, "/permissions")
    terminal.wait_for("given in this session")
    assert "flag --allow" in shown(terminal)
    assert len(fake_llm.generations) == 1, "no command is sent to the model"


def test_models_of_all_services_are_filtered_and_switched_in_mid_session(
    start: Start, fake_llm: FakeLLM
) -> None:
    fake_llm.models = [MODEL, *(f"other-{number}" for number in range(12)), "gpt-special"]
    fake_llm.script(Reply.text("First."), Reply.text("Second."))
    terminal = start(OPENAI_BASE_URL=fake_llm.openai_url, OPENAI_API_KEY="test-key")
    ask(terminal, "one")
    terminal.wait_for("First.")
    ask(terminal, "/model")
    terminal.wait_for_screen("type to filter")
    terminal.send("special opena")
    terminal.wait_gone("other-3")
    terminal.wait_for_screen("openai · 128k window")
    assert sum("gpt-special" in line for line in terminal.lines()) == 1
    terminal.send("\x1b")
    terminal.wait_for_screen("other-3")
    terminal.send("special opena\r")
    terminal.wait_for("model: gpt-special (openai)")
    terminal.wait_for_screen("gpt-special · default")
    terminal.send("two\r")
    terminal.wait_for("Second.")
    first, second = fake_llm.generations
    assert first.path.endswith("/messages")
    assert second.path.endswith("/chat/completions")
    assert "First." in json.dumps(second.messages)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_what_need_not_wait_runs_while_a_turn_does(
    start: Start, fake_llm: FakeLLM, rows: int, columns: int
) -> None:
    fake_llm.script(Reply.text(["Begun. \n\n", Gate("middle"), "Ended."]))
    terminal = start(rows=rows, columns=columns)
    ask(terminal, "go")
    terminal.wait_for("Begun.")
    terminal.send("/todos\r")
    terminal.wait_for("there is no list yet")
    terminal.send("/mode plan\r")
    terminal.wait_for("mode: plan")
    terminal.send("/status\r")
    terminal.wait_for(f"{columns} columns by {rows} rows")
    terminal.send("/hlep\r")
    terminal.wait_for("Did you mean /help?")
    terminal.send("/clear\r")
    terminal.wait_for_screen("queued: /clear")
    assert "esc to stop" in screen(terminal)
    fake_llm.release("middle")
    terminal.wait_for("a new conversation")
    assert len(fake_llm.generations) == 1


def test_a_picker_during_a_turn_and_an_approval_come_one_after_the_other(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.script(
        Reply.of(text(["Wait. \n\n", Gate("middle")]), tool_call("bash", {"command": "touch made"})),
        Reply.text("Touched."),
    )
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("Wait.")
    terminal.send("/theme\r")
    terminal.wait_for_screen("high-contrast")
    fake_llm.release("middle")
    terminal.wait_for("touch made")
    assert "Allow bash?" not in screen(terminal)
    terminal.send("\x1b")
    terminal.wait_for_screen("Allow bash?")

    def taken() -> bool:
        # What comes right behind the picker's key is not taken for an answer: so it is given again.
        if "Allow bash?" in screen(terminal):
            terminal.send("\r")
        return (project / "made").exists()

    terminal.wait_until(taken, "the approval to be taken")
    terminal.wait_for("Touched.")


def test_a_question_aside_beside_a_turn(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(
        Reply.text(["Working. \n\n", Gate("turn"), "Finished."]),
        Reply.text(["It is ", Gate("aside"), "blue."]),
    )
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("Working.")
    terminal.send("/btw which colour?\r")
    terminal.wait_for_screen("btw It is")
    assert "esc stops it" in screen(terminal)
    fake_llm.release("aside")
    terminal.wait_for("btw It is blue.")
    fake_llm.release("turn")
    terminal.wait_for("Finished.")
    ready(terminal)
    [turn, aside] = fake_llm.generations
    assert aside.payload["tool_choice"] == {"type": "none"}
    assert aside.payload["tools"] == turn.payload["tools"]
    fake_llm.script(Reply.text("Next."))
    ask(terminal, "and now?")
    terminal.wait_for("Next.")
    assert "colour" not in json.dumps(fake_llm.generations[-1].messages)
    [archive] = (project / ".mewcode/sessions").glob("*/conversation.jsonl")
    assert "blue" not in archive.read_text()
    assert sum("btw It is blue." in line for line in terminal.history()) == 1


def test_esc_stops_the_question_aside_and_not_the_turn(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(
        Reply.text(["Working. \n\n", Gate("turn"), "Finished."]), Reply.text(["Hm ", Gate("aside")])
    )
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("Working.")
    terminal.send("/btw why?\r")
    terminal.wait_for_screen("btw Hm")
    terminal.send("\x1b")
    terminal.wait_for("(stopped)")
    terminal.wait_for_screen("esc to stop")
    fake_llm.release("turn")
    terminal.wait_for("Finished.")


def test_leaving_leaves_a_question_aside_behind(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["Hm ", Gate("aside")]))
    terminal = start()
    ask(terminal, "/btw why?")
    terminal.wait_for_screen("btw Hm")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    no_traceback(terminal)


def test_ctrl_c_stops_a_question_aside_at_rest(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["Hm ", Gate("aside")]), Reply.text("Here."))
    terminal = start()
    ask(terminal, "/btw why?")
    terminal.wait_for_screen("btw Hm")
    terminal.send("\x03")
    terminal.wait_for("(stopped)")
    ask(terminal, "still there?")
    terminal.wait_for("Here.")


def test_copy_reaches_the_terminals_clipboard_and_the_program(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    fake_llm.script(Reply.text("Take:\n\n```sh\nls -l 文\n```\n"))
    programs = home / "bin"
    programs.mkdir()
    (programs / "wl-copy").write_text(f"#!/bin/sh\nexec /bin/cat > {home}/held\n")
    (programs / "wl-copy").chmod(0o755)
    terminal = start(WAYLAND_DISPLAY="w", PATH=f"{programs}:/usr/bin:/bin")
    ask(terminal, "give")
    terminal.wait_for("Take:")
    ask(terminal, "/copy 1")
    terminal.wait_for("copied code block 1")
    assert (home / "held").read_text() == "ls -l 文\n"
    sequence = b"\x1b]52;c;" + base64.b64encode("ls -l 文\n".encode()) + b"\x07"
    assert sequence in terminal.raw
    ask(terminal, "/copy")
    terminal.wait_for("copied the last answer")
    ask(terminal, "/copy 4")
    terminal.wait_for("has 1 code block")


def test_colours_change_at_once_and_are_kept(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    fake_llm.script(Reply.text("# Heading\n"))
    terminal = start()
    ask(terminal, "/theme light --save")
    terminal.wait_for("colours: light")
    assert (home / ".mewcode/config.yaml").read_text() == "ui:\n  theme: light\n"
    ask(terminal, "go")
    terminal.wait_for("Heading")
    ready(terminal)
    assert b"\x1b[1;38;5;25" in terminal.raw, "the light theme's heading"
    ask(terminal, "/theme no-color")
    terminal.wait_for("colours: no-color")


def test_the_todo_list_and_the_editor(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    items = [{"text": "first thing", "status": "done"}, {"text": "second thing"}]
    fake_llm.script(Reply.calls(("todo", {"items": items})), Reply.text("Listed."), Reply.text("Read."))
    (home / "editor").write_text("#!/bin/sh\necho 'from the editor' >> \"$1\"\n")
    (home / "editor").chmod(0o755)
    terminal = start(EDITOR=str(home / "editor"))
    ask(terminal, "plan")
    terminal.wait_for("Listed.")
    before = shown(terminal).count("second thing")
    ask(terminal, "/todos")
    terminal.wait_until(lambda: shown(terminal).count("second thing") > before, "the list")
    assert "1 of 2 done" in shown(terminal)
    ask(terminal, "/editor begun: ")
    terminal.wait_for_screen("from the editor")
    terminal.send("\r")
    terminal.wait_for("Read.")
    assert "from the editor" in json.dumps(fake_llm.generations[-1].messages)


def test_a_report_holds_no_conversation_and_no_key(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    fake_llm.script(Reply.text("An answer."))
    terminal = start(columns=200)
    ask(terminal, "the word is swordfish")
    terminal.wait_for("An answer.")
    ask(terminal, "/bug")
    terminal.wait_for("the report is in")
    [report] = (home / ".mewcode/reports").iterdir()
    report_text = report.read_text()
    assert "swordfish" not in report_text
    assert "test-key" not in report_text
    assert "TERM: xterm-256color" in report_text
    ask(terminal, "/bug --with-conversation")
    terminal.wait_until(lambda: "swordfish" in "".join(p.read_text() for p in report.parent.iterdir()), "it")
