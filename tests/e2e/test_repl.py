"""The terminal front end: the real program in a pseudo terminal, its screen read by an emulator."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, ready
from tests.support.fake_llm import FakeLLM, Gate, Reply
from tests.support.witness import Witness

# A command with a child, both seen to be there by what they hold open.
HELD = "exec 3> witness; sleep 1000 & echo star''ted; wait"

SIZES = [(24, 80), (50, 200)]


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_first_start_a_question_and_its_answer(
    start: Start, fake_llm: FakeLLM, rows: int, columns: int
) -> None:
    fake_llm.script(Reply.text("# Result\n\nIt is **42**, see `a.py`.\n\n- one\n- two\n", chunks=9))
    terminal = start(rows=rows, columns=columns)
    ask(terminal, "what is it?")
    terminal.wait_for("It is 42, see a.py.")
    ready(terminal)
    shown = terminal.history()
    assert sum("what is it?" in line for line in shown) == 1
    assert sum("It is 42" in line for line in shown) == 1
    assert sum("Result" in line for line in shown) == 1
    terminal.wait_for_screen("default")


def test_an_edit_is_shown_as_a_diff_and_asked_for(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    (project / "a.py").write_text("x = 1\ny = 2\n")
    edit = {"path": "a.py", "edits": [{"old_text": "y = 2", "new_text": "y = 3"}]}
    fake_llm.script(
        Reply.calls(("read_file", {"path": "a.py"})), Reply.calls(("edit_file", edit)), Reply.text("Done.")
    )
    terminal = start()
    ask(terminal, "set y to 3")
    terminal.wait_for_screen("Allow edit_file?")
    shown = "\n".join(terminal.history())
    assert "y = 2" in shown
    assert "y = 3" in shown
    assert (project / "a.py").read_text() == "x = 1\ny = 2\n"
    terminal.send("\r")
    terminal.wait_for("Done.")
    assert (project / "a.py").read_text() == "x = 1\ny = 3\n"


def test_always_in_this_project_is_remembered(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(Reply.calls(("bash", {"command": "touch made"})), Reply.text("Touched."))
    terminal = start()
    ask(terminal, "touch it")
    terminal.wait_for_screen("Allow bash?")
    terminal.send("3")
    terminal.wait_for("Touched.")
    assert (project / "made").exists()
    assert "bash(touch" in (project / ".mewcode/config.local.yaml").read_text()
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    fake_llm.script(Reply.calls(("bash", {"command": "touch made"})), Reply.text("Again."))
    second = start()
    ask(second, "once more")
    second.wait_for("Again.")


def test_no_with_a_reason_is_read_by_the_model(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(Reply.calls(("bash", {"command": "rm -rf build"})), Reply.text("I will not."))
    terminal = start()
    ask(terminal, "clean up")
    terminal.wait_for_screen("Allow bash?")
    terminal.wait_for_screen("No, and say why")
    number = next(line for line in terminal.lines() if "No, and say why" in line).split(".")[0].strip(" ❯")
    terminal.send(number)
    terminal.wait_for_screen("type your words")
    terminal.send("请保留 build\r")
    terminal.wait_for("I will not.")
    assert "请保留 build" in json.dumps(fake_llm.generations[-1].messages, ensure_ascii=False)


def test_esc_at_an_approval_denies_and_stops(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(Reply.calls(("bash", {"command": "touch no"})))
    terminal = start()
    ask(terminal, "touch")
    terminal.wait_for_screen("Allow bash?")
    terminal.send("\x1b")
    terminal.wait_for("denied")
    ready(terminal)
    assert not (project / "no").exists()
    fake_llm.script(Reply.text("Understood."))
    ask(terminal, "never mind")
    terminal.wait_for("Understood.")


def test_esc_in_mid_stream_keeps_what_came(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["The first half. ", Gate("middle"), "The second half."]))
    terminal = start()
    ask(terminal, "tell me")
    terminal.wait_for("The first half.")
    terminal.send("\x1b")
    terminal.wait_for("interrupted")
    fake_llm.release("middle")
    ready(terminal)
    assert "second half" not in "\n".join(terminal.history())
    fake_llm.script(Reply.text("Go on then."))
    ask(terminal, "and?")
    terminal.wait_for("Go on then.")
    sent = json.dumps(fake_llm.generations[-1].messages)
    assert "The first half." in sent
    assert "interrupted" in sent


def test_ctrl_c_ends_a_running_command_and_its_group(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    witness = Witness(project / "witness")
    fake_llm.script(Reply.calls(("bash", {"command": HELD})))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "wait")
    terminal.wait_for("started")
    assert witness.alive()
    terminal.send("\x03")
    terminal.wait_for("interrupted")
    ready(terminal)
    assert witness.all_gone()
    witness.close()


def test_ctrl_c_at_rest_clears_then_asks_then_leaves(start: Start) -> None:
    terminal = start()
    ready(terminal)
    terminal.send("half a thought")
    terminal.wait_for_screen("half a thought")
    terminal.send("\x03")
    terminal.wait_gone("half a thought")
    terminal.send("\x03")
    terminal.wait_for("again to leave")
    terminal.send("\x03\x03")
    assert terminal.wait_exit() == 0


def test_leaving_and_continuing_the_next_day(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Noted: teal."))
    terminal = start()
    ask(terminal, "my colour is teal")
    terminal.wait_for("Noted: teal.")
    ready(terminal)
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    fake_llm.script(Reply.text("It is teal."))
    again = start("-c")
    again.wait_for("my colour is teal")
    again.wait_for("Noted: teal.")
    ask(again, "which colour?")
    again.wait_for("It is teal.")
    assert len(fake_llm.generations[-1].messages) == 3


def test_a_session_is_picked_from_a_list(start: Start, fake_llm: FakeLLM) -> None:
    for colour in ("teal", "plum"):
        fake_llm.script(Reply.text("Noted."))
        terminal = start()
        ask(terminal, f"my colour is {colour}")
        terminal.wait_for("Noted.")
        ready(terminal)
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
    picker = start("-r")
    picker.wait_for_screen("resume which session?")
    picker.wait_for_screen("my colour is teal")
    picker.send("\x1b[B\r")
    picker.wait_gone("resume which session?")
    picker.wait_for("my colour is teal")
    ready(picker)
    assert "plum" not in "\n".join(picker.lines())


def test_chinese_is_typed_deleted_sent_and_shown(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("你好！今天想做什么？🙂"))
    terminal = start()
    ready(terminal)
    terminal.send("你好吗")
    terminal.wait_until(lambda: "你好吗" in "".join(terminal.lines()).replace(" ", ""), "你好吗")
    terminal.send("\x7f")
    terminal.send("\r")
    terminal.wait_until(lambda: "今天想做什么" in "".join(terminal.history()).replace(" ", ""), "the answer")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == "你好"


def test_lines_are_joined_by_alt_enter_and_backslash(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Three lines."))
    terminal = start()
    ready(terminal)
    terminal.send("one\x1b\rtwo\\\rthree\r")
    terminal.wait_for("Three lines.")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == "one\ntwo\nthree"


def test_a_paste_of_many_lines_is_one_input(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Pasted."))
    terminal = start()
    ready(terminal)
    pasted = "\r\n".join(f"line {number}" for number in range(300))
    terminal.send(f"\x1b[200~{pasted}\x1b[201~")
    terminal.wait_for_screen("[paste 1: 300 lines]")
    assert "line 299" not in "\n".join(terminal.lines())
    assert not fake_llm.generations
    terminal.send("\r")
    terminal.wait_for("Pasted.")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == pasted.replace("\r\n", "\n")


def test_words_typed_during_a_turn_go_along_with_the_next_step(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(
        Reply.of(Gate("first"), *Reply.calls(("list_dir", {"path": "."})).blocks),
        Reply.text("With that in mind."),
    )
    terminal = start()
    ask(terminal, "begin")
    fake_llm.wait_gate_reached("first")
    terminal.send("also look at tests\r")
    terminal.wait_for_screen("queued: also look at tests")
    fake_llm.release("first")
    terminal.wait_for("With that in mind.")
    ready(terminal)
    assert "also look at tests" in json.dumps(fake_llm.generations[1].messages)
    assert "queued" not in "\n".join(terminal.lines())


def test_commands(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.models = (MODEL, "claude-sonnet-5-5")
    terminal = start()
    ask(terminal, "/help")
    terminal.wait_for("/permissions")
    ask(terminal, "/status")
    terminal.wait_for("workspace")
    ask(terminal, "/mode plan")
    terminal.wait_for_screen("mode: plan")
    ask(terminal, "/model")
    terminal.wait_for_screen("claude-sonnet-5-5")
    terminal.send("2")
    terminal.wait_for("model: claude-sonnet-5-5")
    terminal.send("/hlep\r")
    terminal.wait_for("Did you mean /help?")
    fake_llm.script(Reply.text("One."))
    terminal.send("count\r")
    terminal.wait_for("One.")
    terminal.send("/cost\r")
    terminal.wait_for("cost of this session")
    terminal.send("/permissions\r")
    terminal.wait_for("permissions")
    terminal.send("/clear\r")
    terminal.wait_for("a new conversation")
    fake_llm.script(Reply.text("Fresh."))
    terminal.send("hello\r")
    terminal.wait_for("Fresh.")
    assert len(fake_llm.generations[-1].messages) == 1
    terminal.send("/exit\r")
    assert terminal.wait_exit() == 0


def test_ask_user_offers_the_choices(start: Start, fake_llm: FakeLLM) -> None:
    question = {
        "question": "Which database?",
        "choices": [
            {"label": "SQLite", "description": "a file"},
            {"label": "Postgres", "description": "a server"},
        ],
    }
    fake_llm.script(Reply.calls(("ask_user", question)), Reply.text("Postgres it is."))
    terminal = start()
    ask(terminal, "set up storage")
    terminal.wait_for_screen("Which database?")
    terminal.send("2")
    terminal.wait_for("Postgres it is.")
    assert "Postgres" in json.dumps(fake_llm.generations[1].messages[-1])


def test_markup_and_escapes_of_the_model_are_text(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("[red]alarm[/] \x1b]0;owned\x07\x1b[31mnot red\x1b[0m end"))
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("[red]alarm[/]")
    ready(terminal)
    assert b"\x1b]0;owned" not in terminal.raw
    assert "not red" in "\n".join(terminal.history())


def test_a_retry_is_shown_and_the_answer_comes_once(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.error(529, retry_after=0), Reply.text("Here after all."))
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("Here after all.")
    ready(terminal)
    assert sum("Here after all." in line for line in terminal.history()) == 1


def test_an_error_is_two_lines_and_the_prompt_comes_back(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.error(401), Reply.text("Now it works."))
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("refused the key")
    terminal.wait_for("ANTHROPIC_API_KEY")
    ask(terminal, "again")
    terminal.wait_for("Now it works.")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_ends_children(
    start: Start, fake_llm: FakeLLM, project: Path, number: signal.Signals
) -> None:
    witness = Witness(project / "witness")
    fake_llm.script(Reply.calls(("bash", {"command": HELD})))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "wait")
    terminal.wait_for("started")
    os.kill(terminal.pid, number)
    assert terminal.wait_exit() == 130
    assert witness.all_gone()
    witness.close()
    records = next((project / ".mewcode/sessions").glob("*/conversation.jsonl")).read_text()
    assert "interrupted by the user" in records


def test_no_key_in_a_terminal_leads_to_the_set_up(start: Start) -> None:
    terminal = start(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    terminal.wait_for("ANTHROPIC_API_KEY")
    terminal.wait_for("Which model do you want to use?")
    terminal.send("q\r")
    assert terminal.wait_exit() == 2


@pytest.mark.parametrize(("theme", "columns"), [("", 80), ("0;15", 200)])
def test_the_demo_is_labelled_and_plays_to_its_end(start: Start, theme: str, columns: int) -> None:
    terminal = start(MEWCODE_OFFER_DEMO="1", ANTHROPIC_API_KEY="", COLORFGBG=theme, columns=columns)
    for _ in range(3):
        terminal.wait_for_screen("Allow ")
        terminal.wait_for_screen("DEMO")
        terminal.send("1")
        terminal.wait_gone("Allow ")
    terminal.wait_for("nothing of yours was touched")
    terminal.wait_gone("esc to stop")
    terminal.wait_for_screen("DEMO")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0


def test_no_color_means_no_colour_codes(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("**bold** and `code`"))
    terminal = start(NO_COLOR="1")
    ask(terminal, "go")
    terminal.wait_for("bold and `code`")
    ready(terminal)
    assert b"\x1b[38;5" not in terminal.raw
    assert b"\x1b[31m" not in terminal.raw
