"""The end of a resumed conversation, drawn and in plain lines."""

from __future__ import annotations

import pytest

from mewcode.agent.continuing import Resumed
from mewcode.core.message import Message, Text, ToolCall, ToolResult
from mewcode.repl.replay import replay, replay_plain, resumed_words
from mewcode.repl.theme import THEMES


def said(number: int) -> tuple[Message, ...]:
    call = ToolCall(f"c{number}", "bash", {"command": "ls\x1b[2J -l"})
    return (
        Message(f"u{number}", "user", (Text(f"问题 {number}"),)),
        Message(f"a{number}", "assistant", (Text(f"**Look** {number}"), call), "model"),
        Message(f"t{number}", "tool", (ToolResult(call.id, (Text("out\x1b[2J"),)),), "tool"),
        Message(f"r{number}", "user", (Text("not the user's"),), "reminder"),
    )


MESSAGES = (*said(1), *said(2), *said(3))
PLAIN = THEMES["no-color"]


@pytest.mark.parametrize(
    ("exchanges", "is_whole", "first"),
    [
        (1, True, "… 2 earlier exchanges"),
        (2, True, "… 1 earlier exchange"),
        (3, True, ""),
        (100, True, ""),
        (2, False, "… earlier exchanges stand in the archive"),
        (100, False, "… earlier exchanges stand in the archive"),
    ],
)
def test_so_many_exchanges_as_are_wanted(exchanges: int, is_whole: bool, first: str) -> None:
    drawn = replay(MESSAGES, PLAIN, 80, exchanges, is_whole=is_whole)
    plain = replay_plain(MESSAGES, exchanges, is_whole=is_whole)
    for text in (drawn, plain):
        assert "\x1b" not in text
        assert text.count("问题") == min(exchanges, 3)
        assert "not the user's" not in text
        assert text.endswith("\n")
        if first:
            assert text.strip().split("\n")[0] == first
        else:
            assert "earlier" not in text
    assert "● bash(ls -l)" in drawn
    assert "bash ls -l\n" in plain


def test_none_is_none() -> None:
    assert replay(MESSAGES, PLAIN, 80, 0) == replay_plain(MESSAGES, 0) == ""
    assert replay((), PLAIN, 80, 3) == replay_plain((), 3, is_whole=False) == ""


def test_which_session_it_is() -> None:
    known = Resumed("the-id", "a\x1b[2Jb\nc", (), 7_200.0, "", 1)
    assert resumed_words(known) == ("resumed: ab c", "the-id · 1 message, paused for 2 h 0 min")
    fork = Resumed("new-id", "the talk", (), 5.0, "", 1, fork_of="old-id")
    assert resumed_words(fork) == ("a fork of old-id: new-id", "the talk · 1 message, paused for 5 s")
    part = Resumed("the-id", "", (), 5.0, "", 1_200, is_whole=False)
    assert resumed_words(part) == ("resumed: the-id", "the-id · the last 1,200 messages, paused for 5 s")
