"""A conversation that evidently has more than any window holds is read as far as it will be summed up."""

from __future__ import annotations

import pytest

from mewcode.core.message import Image, Message, Text, Usage
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.reader import load_session
from mewcode.sessions.record import Totals

TOKENS, ENOUGH = 100_000, 20_000


def made(tmp_path, turns, *, picture=False, told=0, compact=False):
    writer = SessionWriter.create(tmp_path, cwd="/w", provider="p", model="m", mode="default")
    text = "the parser keeps a stack of open blocks " * 100
    messages = []
    for number in range(turns):
        messages.append(Message(f"u{number}", "user", (Text(f"{number} {text}"),)))
        blocks = (Image("image/png", "aGk="),) if picture and number == turns - 1 else ()
        messages[-1] = Message(f"u{number}", "user", (*messages[-1].content, *blocks))
        messages.append(
            Message(f"a{number}", "assistant", (Text("ok"),), "model", "m", Usage(told) if told else None)
        )
    for message in messages:
        writer.append(message)
    if compact:
        writer.compact((Message("s", "user", (Text("sum"),), "compaction"),), turns=turns, totals=Totals())
        for number in range(200):
            writer.append(Message(f"v{number}", "user", (Text(text),)))
            writer.append(Message(f"b{number}", "assistant", (Text("ok"),), "model"))
    writer.close()
    return writer.folder


def test_only_the_end_is_read(tmp_path):
    folder = made(tmp_path, 400)
    whole, end = load_session(folder), load_session(folder, tokens=TOKENS, enough=ENOUGH)
    assert not end.is_whole
    assert end.messages == whole.messages[-len(end.messages) :]
    assert end.messages[0].role == "user"
    assert len(end.messages) < 60
    assert (end.last_id, end.mode, end.model) == (whole.last_id, whole.mode, whole.model)


@pytest.mark.parametrize("how", [{"picture": True}, {"told": 50_000}])
def test_what_may_fit_after_all_is_read(tmp_path, how):
    folder = made(tmp_path, 400, **how)
    assert load_session(folder, tokens=TOKENS, enough=ENOUGH) == load_session(folder, tokens=TOKENS)


def test_a_marker_within_reach_decides(tmp_path):
    folder = made(tmp_path, 100, compact=True)
    assert load_session(folder, tokens=TOKENS * 3, enough=ENOUGH) == load_session(folder, tokens=TOKENS * 3)


def test_a_short_one_is_read_whole(tmp_path):
    folder = made(tmp_path, 20)
    assert load_session(folder, tokens=TOKENS, enough=ENOUGH) == load_session(folder)
