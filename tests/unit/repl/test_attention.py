"""Titles, notifications and what the terminal's environment tells of it."""

from __future__ import annotations

import pytest

from mewcode.repl.notify import LONG_TURN, Attention
from mewcode.repl.terminal_traits import TerminalTraits, terminal_traits

XTERM = TerminalTraits(osc=True)


class Window:
    def __init__(self, traits: TerminalTraits = XTERM, **more: bool) -> None:
        self.now = 0.0
        self.said: list[str] = []
        self.attention = Attention(self.said.append, lambda: self.now, traits, **more)
        self.attention.begin()
        self.said.clear()

    def turn(self, seconds: float) -> list[str]:
        self.attention.turn_began("fix it")
        self.now += seconds
        self.attention.turn_ended()
        said, self.said[:] = [text for text in self.said if not text.startswith("\x1b]2;")], []
        return said


def test_a_long_turn_rings_where_the_window_is_not_in_front() -> None:
    window = Window()
    window.attention.focus(here=False)
    assert window.turn(LONG_TURN + 1) == ["\x07"]
    assert window.turn(LONG_TURN - 1) == []
    window.attention.focus(here=True)
    assert window.turn(LONG_TURN + 1) == []


def test_a_question_rings_and_the_end_of_its_turn_does_not_ring_again() -> None:
    window = Window(title=False)
    window.attention.turn_began("fix it")
    window.now += LONG_TURN + 1
    window.attention.asked()
    window.attention.turn_ended()
    assert window.said == ["\x07"]


@pytest.mark.parametrize(
    ("notification", "begins"), [("osc9", "\x1b]9;MewCode"), ("osc777", "\x1b]777;notify;"), ("bell", "\x07")]
)
def test_each_terminal_is_told_in_its_way(notification, begins: str) -> None:
    said = Window(TerminalTraits(osc=True, notification=notification)).turn(60)
    assert len(said) == 1
    assert said[0].startswith(begins)
    assert said[0].endswith("\x07")


def test_the_title_holds_no_control_characters() -> None:
    window = Window()
    window.attention.turn_began("one\x07two\x1b]0;x\x07\nthree " + "long " * 50)
    assert window.said[0].count("\x07") == 1
    assert window.said[0].count("\x1b") == 1
    assert len(window.said[0]) < 90
    window.attention.end()
    assert window.said[-1] == "\x1b[23;2t"


def test_nothing_is_said_where_it_is_not_wanted() -> None:
    window = Window(title=False, notify=False)
    assert window.turn(60) == []
    window.attention.end()
    assert window.said == []


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, TerminalTraits(False, True, "bell")),
        ({"TERM": "linux"}, TerminalTraits(False, False, "bell")),
        ({}, TerminalTraits(False, False, "bell")),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "VTE_VERSION": "1"}, TerminalTraits(True, True, "bell")),
        ({"TERM": "screen", "VTE_VERSION": "7000"}, TerminalTraits(False, True, "bell")),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7000"}, TerminalTraits(True, True, "osc777")),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, TerminalTraits(True, True, "osc9")),
        ({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, TerminalTraits(True, True, "osc9")),
        ({"TERM": "foot"}, TerminalTraits(True, True, "osc777")),
    ],
)
def test_the_traits_of_terminals(environ: dict[str, str], expected: TerminalTraits) -> None:
    assert terminal_traits(environ) == expected
