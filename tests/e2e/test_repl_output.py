"""What the terminal front end shows: cards, the transcript, titles and bells, colours, plain lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mewcode.repl.cell_width import cell_width
from tests.support.adverse import HELD, Start, ask, leave, open_gate, ready, screen
from tests.support.fake_llm import FakeLLM, Gate, Reply
from tests.support.terminal import Terminal
from tests.support.witness import Witness

SIZES = [(24, 80), (50, 200)]
ALTERNATE, BACK = b"\x1b[?1049h", b"\x1b[?1049l"


def shown(terminal: Terminal) -> str:
    return "\n".join(terminal.history())


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_reads_and_searches_of_one_step_are_one_card(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text("x = 1\ny = 2\n")
    reads = [("read_file", {"path": name}) for name in ("a.py", "b.py", "c.py")]
    searches = [("grep", {"pattern": "x"}), ("glob", {"pattern": "*.py"})]
    fake_llm.script(Reply.calls(*reads, *searches), Reply.text("All read."))
    terminal = start(rows=rows, columns=columns)
    ask(terminal, "look around")
    terminal.wait_for("All read.")
    ready(terminal)
    lines = terminal.history()
    assert sum("● read 3 files, searched 2 times" in line for line in lines) == 1
    for name in ("a.py", "b.py", "c.py"):
        assert sum(bool(re.search(rf"^\s+(└ )?{name} · ", line)) for line in lines) == 1
    assert any("grep x" in line for line in lines)
    assert not any("read_file(" in line for line in lines)


def test_a_running_command_shows_its_last_lines_live(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    os.mkfifo(project / "gate")
    witness = Witness(project / "witness")
    fake_llm.script(Reply.calls(("bash", {"command": f"seq -f 'row %g' 40; {HELD}"})), Reply.text("Over."))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "count")
    terminal.wait_until(lambda: "started" in [line.strip() for line in terminal.lines()], "its last line")
    assert "row 40" in screen(terminal)
    assert "row 10" not in shown(terminal)
    open_gate(project / "gate", witness)
    witness.close()
    terminal.wait_for("Over.")
    leave(terminal)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_the_transcript_shows_all_and_finds_words(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    (project / "long.txt").write_text("".join(f"entry {number}\n" for number in range(300)))
    fake_llm.script(
        Reply.calls(("read_file", {"path": "long.txt"})), Reply.text("It has 300 entries, 全部读过了。")
    )
    terminal = start(rows=rows, columns=columns)
    ask(terminal, "read it")
    terminal.wait_for("300 entries")
    ready(terminal)
    assert "entry 150" not in shown(terminal)
    before = screen(terminal)
    terminal.send("\x0f")
    terminal.wait_for_screen("q leaves")
    assert ALTERNATE in terminal.raw
    terminal.wait_for_screen("It has 300 entries")
    terminal.send("/entry 150\r")
    terminal.wait_for_screen("entry 150")
    terminal.send("g")
    terminal.wait_for_screen("❯ read it")
    terminal.send(" ")
    terminal.wait_gone("❯ read it")
    terminal.send("G")
    terminal.wait_for_screen("It has 300 entries")
    terminal.send("/no such words\r")
    terminal.wait_for_screen("no 'no such words' here")
    terminal.send("q")
    terminal.wait_until(lambda: BACK in terminal.raw, "the pager gone")
    ready(terminal)
    assert "❯ read it" in before
    fake_llm.script(Reply.text("Here again."))
    ask(terminal, "go on")
    terminal.wait_for("Here again.")
    leave(terminal)


@pytest.mark.parametrize("key", ["\x1b", "\x0f", "q"])
def test_a_turn_goes_on_behind_the_transcript(start: Start, fake_llm: FakeLLM, key: str) -> None:
    fake_llm.script(Reply.text(["The beginning.\n\n", Gate("more"), "The end.\n"]))
    terminal = start()
    ask(terminal, "tell me")
    terminal.wait_for_screen("The beginning.")
    terminal.send("\x0f")
    terminal.wait_for_screen("q leaves")
    terminal.wait_for_screen("The beginning.")
    fake_llm.release("more")
    terminal.send(key)
    terminal.wait_until(lambda: BACK in terminal.raw, "the pager gone")
    terminal.wait_for("The end.")
    leave(terminal)


def test_the_title_says_the_task_and_is_given_back(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Fixed."))
    terminal = start()
    ask(terminal, "fix the 测试 please")
    terminal.wait_for("Fixed.")
    leave(terminal)
    assert b"\x1b[22;2t" in terminal.raw
    assert "\x1b]2;mewcode: fix the 测试 please\x07".encode() in terminal.raw
    assert terminal.raw.index(b"\x1b[23;2t") > terminal.raw.index(b"Fixed.")
    assert terminal.raw.count(b"\x1b[?1004h") >= 1
    assert terminal.raw.rindex(b"\x1b[?1004l") > terminal.raw.rindex(b"\x1b[?1004h")


def test_no_title_and_no_focus_reports_where_config_says_so(start: Start, home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("ui:\n  title: false\n  notify: false\n")
    terminal = start()
    ready(terminal)
    leave(terminal)
    assert b"\x1b]2;" not in terminal.raw
    assert b"\x1b[?1004" not in terminal.raw


def test_focus_reports_are_no_input(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Clean."))
    terminal = start()
    ready(terminal)
    terminal.send("he\x1b[I\x1b[Ollo\x1b[I\r")
    terminal.wait_for("Clean.")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == "hello"
    leave(terminal)


@pytest.mark.parametrize(
    ("answer", "colour"), [("rgb:ffff/fafa/f0f0", b"\x1b[0;38;5;28;1m"), ("rgb:1e1e/1e1e/2e2e", b"114")]
)
def test_the_terminal_is_asked_for_its_background(
    start: Start, fake_llm: FakeLLM, answer: str, colour: bytes
) -> None:
    fake_llm.script(Reply.text("Seen."))
    terminal = start()
    terminal.wait_until(lambda: b"\x1b]11;?\x1b\\" in terminal.raw, "the question")
    terminal.send(f"ab\x1b]11;{answer}\x1b\\c")
    terminal.wait_for_screen("abc")
    ready(terminal)
    terminal.send("\r")
    terminal.wait_for("Seen.")
    assert fake_llm.generations[0].messages[0]["content"][0]["text"] == "abc"
    user_sign = b"38;5;28" if colour.endswith(b"m") else b"38;5;114"
    assert user_sign in terminal.raw[terminal.raw.rindex(b"Seen.") - 3000 :]
    leave(terminal)


def test_background_work_and_the_queue_stand_in_the_status_line(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    os.mkfifo(project / "gate")
    witness = Witness(project / "witness")
    call = ("bash", {"command": HELD, "background": True})
    fake_llm.script(Reply.calls(call), Reply.text(["It runs.\n\n", Gate("on"), "Over."]), Reply.text("Next."))
    terminal = start("--permission-mode", "bypass", columns=120)
    ask(terminal, "serve")
    terminal.wait_for_screen("1 command running")
    fake_llm.wait_gate_reached("on")
    terminal.send("and then\r")
    terminal.wait_for_screen("1 queued · 1 command running")
    fake_llm.release("on")
    terminal.wait_for("Next.")
    open_gate(project / "gate", witness)
    witness.close()
    leave(terminal)


MANY = """\
# Title

| name | 值 |
|------|----|
| 你好 | 🙂 |
| b    | 22 |

1. one
   - inner [link](https://example.org/target)

````md
```py
x = 1
```
````

```py
def f(a: int) -> str:
    return "s"  # note
```
"""


@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize("background", ["0;15", "15;0"])
def test_markdown_at_each_size_and_background(
    start: Start, fake_llm: FakeLLM, rows: int, columns: int, background: str
) -> None:
    fake_llm.script(Reply.text(MANY, chunks=40))
    terminal = start(rows=rows, columns=columns, COLORFGBG=background)
    ask(terminal, "show")
    terminal.wait_for("# note")
    ready(terminal)
    lines = terminal.history()
    text = "\n".join(lines)
    assert "https://example.org/target" in text
    assert sum("def f(a: int) -> str:" in line for line in lines) == 1
    assert sum("```py" in line for line in lines) == 1  # the one that is code itself
    first, second = (next(line for line in lines if word in line) for word in ("🙂", "22"))
    assert cell_width(first.partition("🙂")[0]) == cell_width(second.partition("22")[0])
    keyword = b"38;5;90" if background == "0;15" else b"38;5;176"
    assert keyword in terminal.raw


# Plain lines.


def test_plain_is_lines_alone(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    edit = {"path": "a.py", "edits": [{"old_text": "x = 1", "new_text": "x = 2"}]}
    fake_llm.script(
        Reply.calls(("read_file", {"path": "a.py"})), Reply.calls(("edit_file", edit)), Reply.text("Done.\n")
    )
    terminal = start("--plain")
    terminal.wait_until(lambda: b"\n> " in terminal.raw, "the prompt")
    terminal.send("set x to 2\n")
    terminal.wait_for("Allow edit_file?")
    terminal.wait_for("1. Yes")
    terminal.wait_for("Type a number from 1 to")
    terminal.send("9\n")
    terminal.send("1\n")
    terminal.wait_for("Done.")
    assert (project / "a.py").read_text() == "x = 2\n"
    terminal.send("!ls\n")
    terminal.wait_for("shell ls: 1 line")
    terminal.send("/status\n")
    terminal.wait_for("workspace")
    terminal.send("/exit\n")
    assert terminal.wait_exit() == 0
    assert b"\x1b" not in terminal.raw
    assert b"\r\n" in terminal.raw
    assert b"\r" not in terminal.raw.replace(b"\r\n", b"")


def test_plain_ctrl_c_stops_the_turn_then_leaves(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["First.\n", Gate("rest"), "Second.\n"]), Reply.text("Again.\n"))
    terminal = start("--plain")
    terminal.wait_until(lambda: b"\n> " in terminal.raw, "the prompt")
    terminal.send("tell me\n")
    terminal.wait_for("First.")
    terminal.send("\x03")
    terminal.wait_for("interrupted")
    fake_llm.release("rest")
    terminal.send("and now\n")
    terminal.wait_for("Again.")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    assert "Second." not in shown(terminal)
    assert b"\x1b" not in terminal.raw


def test_a_dumb_terminal_gets_plain_lines(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    (project / "a.py").write_text("x = 12345\n")
    fake_llm.script(Reply.text("Hello 你好.\n"))
    terminal = start(TERM="dumb")
    terminal.wait_until(lambda: b"\n> " in terminal.raw, "the prompt")
    terminal.send("hello @a.py\n")
    terminal.wait_until(lambda: "你好".encode() in terminal.raw, "the answer")
    assert "x = 12345" in str(fake_llm.generations[0].messages)
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    assert b"\x1b" not in terminal.raw


def test_plain_by_config_with_a_first_prompt(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("ui:\n  plain: true\n")
    fake_llm.script(Reply.text("By config.\n"))
    terminal = start("hello")
    terminal.wait_for("By config.")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    assert b"\x1b" not in terminal.raw
