"""Where there is no real terminal, or only half of one: plain text, no escape codes, no prompt for input."""

from __future__ import annotations

import json
import os
import select
import shlex
from pathlib import Path

import pytest

from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment
from tests.support.terminal import LIMIT, Terminal

START = shlex.join([*PROGRAM, "--model", "claude-opus-5-5"])


@pytest.mark.parametrize(
    ("command", "env", "sent"),
    [
        (f"{START} hi", {"TERM": "dumb"}, "hi"),
        (f"{START} hi | cat", {}, "hi"),
        (f"echo piped | {START}", {}, "piped"),
        (f"{START} -p hi", {}, "hi"),
    ],
    ids=["a dumb terminal", "output to a pipe", "input from a pipe", "-p in a terminal"],
)
def test_the_answer_alone_in_plain_text(
    fake_llm: FakeLLM, project: Path, home: Path, command: str, env: dict[str, str], sent: str
) -> None:
    fake_llm.script(Reply.text("# Hello\n\nIt is **so**.\n"))
    variables = environment(home, anthropic=fake_llm.url) | env
    with Terminal(["sh", "-c", command], cwd=project, env=variables) as terminal:
        assert terminal.wait_exit() == 0
        assert bytes(terminal.raw) == b"# Hello\r\n\r\nIt is **so**.\r\n"
    assert sent in str(fake_llm.generations[0].messages[0])


def test_a_dumb_terminal_is_asked_for_a_prompt_in_lines(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    variables = environment(home, anthropic=fake_llm.url) | {"TERM": "dumb"}
    with Terminal(["sh", "-c", START], cwd=project, env=variables) as terminal:
        terminal.wait_until(lambda: b"\n> " in terminal.raw, "the prompt")
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
        assert b"\x1b" not in terminal.raw
    assert fake_llm.generations == []


def test_mentions_and_own_commands_work_in_plain_lines(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    (project / "a.txt").write_text("what it holds\n")
    fake_llm.script(Reply.text("Seen."))
    os.mkfifo(project / "begun")
    begun = os.open(project / "begun", os.O_RDONLY | os.O_NONBLOCK)
    variables = environment(home, anthropic=fake_llm.url)

    with Terminal(["sh", "-c", f"exec {START} --plain"], cwd=project, env=variables) as terminal:

        def say(text: str, answer: str) -> None:
            before = terminal.raw.count(b"\n> ")
            terminal.send(text + "\r")
            terminal.wait_for(answer)
            terminal.wait_until(lambda: terminal.raw.count(b"\n> ") > before, "the next prompt")

        terminal.wait_until(lambda: b"\n> " in terminal.raw, "the prompt")
        say("!echo it is $((40 + 2)); false", "it is 42")
        say("!", "!COMMAND runs a command")
        say("# project: the tests need a database", "noted: the tests need a database")
        before = terminal.raw.count(b"\n> ")
        terminal.send("!echo x > begun; exec sleep 1000\r")
        assert select.select([begun], [], [], LIMIT)[0]
        os.close(begun)
        terminal.send("\x03")
        terminal.wait_for("stopped by the user")
        terminal.wait_until(lambda: terminal.raw.count(b"\n> ") > before, "the next prompt")
        assert not fake_llm.generations
        say("look at @a.txt", "Seen.")
        assert "attached: a.txt" in "\n".join(terminal.history())
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
        assert b"\x1b" not in terminal.raw
    sent = json.dumps(fake_llm.generations[0].messages)
    for words in ("what it holds", "$ echo it is", "it is 42", "exit code 1", "stopped by the user"):
        assert words in sent
    for words in ("The user noted this for later sessions (", "It holds from now on:"):
        assert words in sent
