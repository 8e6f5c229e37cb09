"""A transcript whose beginning was not loaded: it comes when it is read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from mewcode.core.message import Message, Text
from mewcode.repl import reading
from mewcode.repl.pager import Pager
from mewcode.repl.reading import earlier_of, history_of
from mewcode.repl.theme import THEMES
from tests.support.archive import head, make_session, said


def words(messages: Any) -> list[str]:
    return [message.text for message in messages]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = (said(f"m{number}", f"message {number}", number + 1.0) for number in range(20))
    return make_session(tmp_path, "20260101-100000-aaaa", head("x"), *lines)


def session(folder: Path, *, is_whole: bool, at_hand: list[str]) -> Any:
    messages = [Message(name, "user", (Text(name),)) for name in at_hand]
    return SimpleNamespace(
        resumed=SimpleNamespace(is_whole=is_whole),
        archive=SimpleNamespace(folder=folder),
        agent=SimpleNamespace(conversation=SimpleNamespace(messages=messages)),
    )


def test_what_is_at_hand_is_not_read_again(folder: Path) -> None:
    earlier = earlier_of(session(folder, is_whole=False, at_hand=["m17", "m18", "m19"]))
    assert earlier is not None
    assert words(earlier()) == [f"message {number}" for number in range(17)]
    # What begins with words of the program's own is found by what follows them.
    earlier = earlier_of(session(folder, is_whole=False, at_hand=["summary", "m18", "m19"]))
    assert earlier is not None
    assert len(earlier()) == 18
    assert earlier_of(session(folder, is_whole=True, at_hand=["m0"])) is None
    # A summary stands for what came before, and that can still be read.
    compacted = session(folder, is_whole=True, at_hand=["s", "m19"])
    compacted.agent.conversation.messages[0] = Message("s", "user", (Text("s"),), "compaction")
    earlier = earlier_of(compacted)
    assert earlier is not None
    assert len(earlier()) == 19
    fresh = session(folder, is_whole=True, at_hand=[])
    fresh.resumed = None
    assert earlier_of(fresh) is None


def test_of_a_very_large_session_the_end_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(asyncio.run(history_of(folder))) == 20
    monkeypatch.setattr(reading, "_MOST_BYTES", 100)
    monkeypatch.setattr(reading, "_LARGE_END", 1)
    assert words(asyncio.run(history_of(folder)))[-1] == "message 19"


class Output(DummyOutput):
    def get_size(self) -> Size:
        return Size(rows=24, columns=80)


def test_the_pager_shows_what_stands_before(folder: Path) -> None:
    calls: list[int] = []

    def earlier() -> list[Message]:
        calls.append(1)
        return [Message("e", "user", (Text("long ago"),))]

    def shown(pager: Pager, width: int) -> str:
        return "\n".join(line for part in pager._parts(width) for line in reversed(part))

    with create_pipe_input() as input_:
        at_hand = [Message("n", "user", (Text("just now"),))]
        pager = Pager(
            at_hand, THEMES["no-color"], input_, Output(), lambda: "", cast("Any", lambda **_: None), earlier
        )
        for width in (80, 40):
            text = shown(pager, width)
            assert text.index("just now") < text.index("long ago")
        assert len(calls) == 1
