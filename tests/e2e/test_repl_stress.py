"""Resizes, pastes and keys in the middle of long answers: all that was said stands there once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.support.adverse import Start, ask, leave, no_traceback, ready
from tests.support.fake_llm import FakeLLM, Gate, Reply

# The least width is that of the longest line: an emulator that does not wrap anew cuts what is longer.
SIZES = [(24, 80), (50, 200), (30, 60), (24, 120), (40, 61), (12, 80)]
STEPS = 60

_LINE = re.compile(r"item (\d+) of the long answer, number (\d+)")


def item(step: int, number: int) -> str:
    return f"item {step} of the long answer, number {number}"


def answer(steps: int, per_step: int) -> list[str | Gate]:
    pieces: list[str | Gate] = []
    for step in range(steps):
        # In two halves, so that a line is in the middle at each gate.
        lines = [f"- {item(step, number)}\n" for number in range(per_step)]
        text = "".join(lines)
        cut = len(text) - len(lines[-1]) // 2
        pieces += [text[:cut], Gate(f"step {step}"), text[cut:]]
        if step % 7 == 6:
            pieces.append(f"\n```py\nvalue_{step} = {step}  # 值 {step}\n```\n\n")
    return [*pieces, "\nThat was all.\n"]


def found(lines: Sequence[str]) -> list[tuple[int, int]]:
    text = " ".join(" ".join(lines).split())
    return [(int(step), int(number)) for step, number in _LINE.findall(text)]


def expected(steps: int, per_step: int) -> list[tuple[int, int]]:
    return [(step, number) for step in range(steps) for number in range(per_step)]


def test_a_resize_at_each_piece_of_a_long_answer(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(answer(STEPS, 4)))
    terminal = start()
    ask(terminal, "tell me much")
    typed = ""
    for step in range(STEPS):
        fake_llm.wait_gate_reached(f"step {step}")
        terminal.resize(*SIZES[step % len(SIZES)])
        if step % 5 == 0:
            key = chr(ord("a") + step // 5 % 26)
            terminal.send(key)
            typed += key
        fake_llm.release(f"step {step}")
    terminal.resize(24, 80)
    terminal.wait_for("That was all.")
    ready(terminal)
    lines = terminal.history()
    assert found(lines) == expected(STEPS, 4)
    for step in range(6, STEPS, 7):
        assert sum(f"value_{step} = {step}" in line for line in lines) == 1
    assert sum("That was all." in line for line in lines) == 1
    assert sum("tell me much" in line for line in lines) == 1
    assert not [line for line in lines[:-24] if "esc to stop" in line]
    terminal.wait_for_screen(f"❯ {typed}")
    terminal.send("\x03")
    leave(terminal)
    no_traceback(terminal)


def test_a_block_taller_than_the_screen_is_there_once(start: Start, fake_llm: FakeLLM) -> None:
    """One table and one paragraph, each of more rows than the screen has."""
    rows = "".join(f"| row {number} | {number * 7} |\n" for number in range(100))
    words = " ".join(f"word{number}" for number in range(600))
    pieces = [
        "| a | b |\n|---|---|\n", rows[: len(rows) // 2], Gate("table"), rows[len(rows) // 2 :], "\n",
        words[:3000], Gate("words"), words[3000:], "\n\nThe end.\n",
    ]  # fmt: skip
    fake_llm.script(Reply.text(pieces))
    terminal = start()
    ask(terminal, "tall")
    fake_llm.wait_gate_reached("table")
    terminal.resize(14, 80)
    fake_llm.release("table")
    fake_llm.wait_gate_reached("words")
    terminal.resize(24, 80)
    fake_llm.release("words")
    terminal.wait_for("The end.")
    ready(terminal)
    text = "\n".join(terminal.history())
    for number in range(100):
        assert len(re.findall(rf"\brow {number}\b", text)) == 1
    assert re.findall(r"word(\d+)", text) == [str(number) for number in range(600)]
    leave(terminal)


def test_a_paste_of_5000_lines_during_a_stream(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text([*answer(6, 3)]), Reply.text("Got them."))
    terminal = start()
    ask(terminal, "tell me")
    pasted = "\r\n".join(f"pasted\tline {number}" for number in range(5000))
    for step in range(6):
        fake_llm.wait_gate_reached(f"step {step}")
        if step == 2:
            terminal.send(f"\x1b[200~{pasted}\x1b[201~")
        fake_llm.release(f"step {step}")
    terminal.wait_for("That was all.")
    ready(terminal)
    assert len(fake_llm.generations) == 1
    terminal.send("\r")
    terminal.wait_for("Got them.")
    sent = fake_llm.generations[1].messages[-1]["content"][0]["text"]
    assert sent.splitlines() == pasted.splitlines()
    lines = terminal.history()
    assert found(lines) == expected(6, 3)
    assert sum("pasted" in line for line in lines) < 40
    leave(terminal)


def test_keys_of_each_kind_during_a_stream(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(answer(30, 3)), Reply.text("Read."))
    terminal = start()
    ask(terminal, "tell me")
    keys = ["a", "你", "é", "\x1b[D", "\x1b[C", "🙂", "\x7f", " ", "\x1b[H", "\x1b[F"]
    for step in range(30):
        fake_llm.wait_gate_reached(f"step {step}")
        terminal.send(keys[step % len(keys)])
        fake_llm.release(f"step {step}")
    terminal.wait_for("That was all.")
    ready(terminal)
    terminal.send("!\r")
    terminal.wait_for("Read.")
    sent = fake_llm.generations[1].messages[-1]["content"][0]["text"]
    assert sent == ("a你é " * 3).strip() + " !"
    assert found(terminal.history()) == expected(30, 3)
    leave(terminal)
