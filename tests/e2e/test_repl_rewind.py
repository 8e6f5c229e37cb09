"""Back to an earlier message: the conversation, the files, and the way back from there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, no_traceback, ready
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal

EDIT = {"path": "a.py", "edits": [{"old_text": "x = 1", "new_text": "x = 2"}]}


@pytest.fixture(autouse=True)
def no_side_calls(home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("sessions:\n  titles: false\n  briefs: false\n")


def changed_twice(fake_llm: FakeLLM, project: Path) -> None:
    """Scripts two turns: words, then a turn that edits one file and makes another."""
    (project / "a.py").write_text("x = 1\ny = 1\n")
    fake_llm.script(
        Reply.text("Hello yourself."),
        Reply.calls(("read_file", {"path": "a.py"})),
        Reply.calls(("edit_file", EDIT), ("write_file", {"path": "新.txt", "content": "made\n"})),
        Reply.text("Both changed."),
    )


def two_turns(terminal: Terminal) -> None:
    ask(terminal, "hello there")
    terminal.wait_for("Hello yourself.")
    ask(terminal, "修改 a.py")
    terminal.wait_for("Both changed.")
    ready(terminal)


def in_input(terminal: Terminal, words: str) -> None:
    """Waits until this stands in the input, which is above the status line."""

    def stands() -> bool:
        lines = terminal.lines()
        status = [place for place, line in enumerate(lines) if line.startswith(MODEL)]
        return bool(status) and lines[status[-1] - 1] == f"❯ {words}".rstrip()

    terminal.wait_until(stands, f"{words!r} in the input")


def sent(fake_llm: FakeLLM) -> str:
    return json.dumps(fake_llm.generations[-1].messages, ensure_ascii=False)


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
def test_esc_esc_takes_back_a_turn_with_its_files_and_undo_brings_it_again(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    changed_twice(fake_llm, project)
    terminal = start("--permission-mode", "accept-edits", rows=rows, columns=columns)
    two_turns(terminal)
    terminal.send("\x1b\x1b")
    terminal.wait_for_screen("go back to before which message?")
    terminal.wait_for_screen("2 files changed since")
    terminal.wait_for_screen("❯ 2. 修改 a.py")
    terminal.send("\r")
    terminal.wait_for_screen("The conversation and the files")
    terminal.wait_for_screen("a.py: +1 -1")
    terminal.send("\r")
    terminal.wait_for_screen("rewound to: 修改 a.py")
    terminal.wait_for_screen("/rewind undo takes it back")
    in_input(terminal, "修改 a.py")
    assert (project / "a.py").read_text() == "x = 1\ny = 1\n"
    assert not (project / "新.txt").exists()
    # What stands there can be edited and sent.
    fake_llm.script(Reply.text("Another way, then."))
    terminal.send(" only\r")
    terminal.wait_for("Another way, then.")
    assert "修改 a.py only" in sent(fake_llm)
    assert "Hello yourself." in sent(fake_llm)
    assert "Both changed." not in sent(fake_llm)
    ready(terminal)
    no_traceback(terminal)


def test_a_rewind_is_undone(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    changed_twice(fake_llm, project)
    terminal = start("--permission-mode", "accept-edits")
    two_turns(terminal)
    ask(terminal, "/rewind")
    terminal.wait_for_screen("go back to before which message?")
    terminal.send("\x1b[A\r")
    terminal.wait_for_screen("before: hello there")
    terminal.send("\r")
    terminal.wait_for_screen("rewound to: hello there")
    assert (project / "a.py").read_text() == "x = 1\ny = 1\n"
    in_input(terminal, "hello there")
    terminal.send("\x03")
    in_input(terminal, "")
    ask(terminal, "/rewind undo")
    terminal.wait_for("back to where it was")
    ready(terminal)
    assert (project / "a.py").read_text() == "x = 2\ny = 1\n"
    assert (project / "新.txt").read_text() == "made\n"
    fake_llm.script(Reply.text("As before."))
    ask(terminal, "where were we?")
    terminal.wait_for("As before.")
    assert "Both changed." in sent(fake_llm)


def test_the_conversation_alone_and_the_files_alone(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    changed_twice(fake_llm, project)
    terminal = start("--permission-mode", "accept-edits")
    two_turns(terminal)
    ask(terminal, "/rewind")
    terminal.wait_for_screen("go back to before which message?")
    terminal.send("\r")
    terminal.wait_for_screen("The files only")
    terminal.send("3")
    terminal.wait_for("2 files restored")
    ready(terminal)
    assert (project / "a.py").read_text() == "x = 1\ny = 1\n"
    assert "rewound to" not in "\n".join(terminal.history())
    ask(terminal, "/rewind")
    terminal.wait_for_screen("go back to before which message?")
    terminal.send("\r")
    terminal.wait_for_screen("no file was changed since")
    terminal.send("\r")
    terminal.wait_for("rewound to: 修改 a.py")
    fake_llm.script(Reply.text("Yes."))
    in_input(terminal, "修改 a.py")
    terminal.send("\r")
    terminal.wait_for("Yes.")
    assert "Both changed." not in sent(fake_llm)


def test_what_others_changed_since_is_named_and_asked_about(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    changed_twice(fake_llm, project)
    terminal = start("--permission-mode", "accept-edits")
    two_turns(terminal)
    (project / "a.py").write_text("x = 2\ny = 1\nmine = 3\n")
    ask(terminal, "/rewind")
    terminal.wait_for_screen("go back to before which message?")
    terminal.send("\r")
    terminal.wait_for_screen("changed since by others")
    terminal.send("\r")
    terminal.wait_for_screen("Leave those as they are")
    terminal.wait_for_screen("1 file changed since by something other than this session")
    terminal.send("\r")
    terminal.wait_for("left as it is: a.py")
    assert (project / "a.py").read_text() == "x = 2\ny = 1\nmine = 3\n"
    assert not (project / "新.txt").exists()


def test_only_a_second_esc_on_an_empty_line_asks(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Good."))
    terminal = start()
    ask(terminal, "words")
    terminal.wait_for("Good.")
    ready(terminal)
    terminal.send("draft")
    terminal.wait_for_screen("❯ draft")
    # Keys are taken in order: what comes behind shows that these did nothing.
    terminal.send("\x1b\x1b\x1b\x1b[200~ed\x1b[201~")
    terminal.wait_for_screen("❯ drafted")
    terminal.send("\x03")
    terminal.wait_gone("drafted")
    assert "go back to before" not in "\n".join(terminal.history())
    terminal.send("\x1b\x1b")
    terminal.wait_for_screen("go back to before which message?")
    terminal.send("\x1b")
    terminal.wait_gone("go back to before which message?")
    ready(terminal)


def test_it_is_said_where_there_is_nothing_to_go_back_to(start: Start) -> None:
    terminal = start()
    ask(terminal, "/rewind")
    terminal.wait_for("there is no message to go back to yet")
    ask(terminal, "/rewind undo")
    ready(terminal)
    no_traceback(terminal)


def test_in_plain_lines_a_rewind_is_two_numbers(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    changed_twice(fake_llm, project)
    argv = [*PROGRAM, "--model", MODEL, "--plain", "--permission-mode", "accept-edits"]
    with Terminal(argv, cwd=project, env=environment(home, anthropic=fake_llm.url)) as terminal:

        def say(text: str, answer: str) -> None:
            terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
            terminal.send(text + "\r")
            terminal.wait_for(answer)

        say("hello there", "Hello yourself.")
        say("修改 a.py", "Both changed.")
        say("/rewind", "Type a number from 1 to 2")
        terminal.send("2\r")
        terminal.wait_for("Type a number from 1 to 4")
        terminal.send("1\r")
        terminal.wait_for("2 files restored")
        terminal.wait_for("Your message was:")
        assert (project / "a.py").read_text() == "x = 1\ny = 1\n"
        say("/rewind undo", "back to where it was")
        terminal.wait_until(lambda: terminal.raw.endswith(b"\n> "), "the prompt")
        assert (project / "a.py").read_text() == "x = 2\ny = 1\n"
        assert b"\x1b" not in terminal.raw
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
