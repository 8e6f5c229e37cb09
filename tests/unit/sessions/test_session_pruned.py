"""Prune records: what the model sees of a result after a resume, and what the archive keeps of it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Message, Text, ToolCall, ToolResult
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.catalog_fold import SessionState, fold_line
from mewcode.sessions.pruned import read_replaced
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.record import Totals, decode_line, encode_record, prune_record

LINE = "[read_file a.py: left out to save room; read it again if you need it]"


def conversation(steps: int) -> list[Message]:
    messages = [Message("u0", "user", (Text("开始 go"),))]
    for number in range(steps):
        call = ToolCall(f"c{number}", "read_file", {"path": f"{number}.py"})
        result = ToolResult(f"c{number}", (Text(f"text of {number} " * 20),))
        messages.append(Message(f"a{number}", "assistant", (call,), "model", "m"))
        messages.append(Message(f"t{number}", "tool", (result,), "tool"))
    return messages


def text_of(message: Message) -> str:
    return "".join(part.text for result in message.tool_results for part in result.content)


def write(folder: Path, messages: list[Message], *records: dict[str, Any]) -> SessionWriter:
    writer = SessionWriter.create(folder, cwd=folder, provider="p", model="m", mode="default")
    for message in messages:
        writer.append(message)
    for record in records:
        writer.append_record(record)
    return writer


@settings(max_examples=40, deadline=None)
@given(
    steps=st.integers(1, 8),
    batches=st.lists(
        st.dictionaries(st.sampled_from([f"t{n}" for n in range(9)] + ["a0", "u0", "x"]), st.text())
    ),
)
def test_a_resume_sees_the_lines_and_the_history_the_results(
    steps: int, batches: list[dict[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        messages = conversation(steps)
        writer = write(Path(name), messages, *(prune_record(batch, ts=1.0) for batch in batches))
        writer.close()
        expected: dict[str, str] = {}
        for batch in batches:
            record = decode_line(encode_record(prune_record(batch, ts=1.0)).rstrip(b"\n"))
            assert isinstance(record, dict)
            expected |= read_replaced(record["replaced"])
        seen, whole = load_session(writer.folder), load_history(writer.folder)
        assert load_session(writer.folder, tokens=10**6).messages == seen.messages
        assert seen.skipped == whole.skipped == 0
        assert [message.content for message in whole.messages] == [message.content for message in messages]
        for message, raw in zip(seen.messages, messages, strict=True):
            replaced = message.role == "tool" and message.id in expected
            assert text_of(message) == (expected[message.id] if replaced else text_of(raw))
            assert (message.id, message.role) == (raw.id, raw.role)
            assert [r.call_id for r in message.tool_results] == [r.call_id for r in raw.tool_results]


@pytest.mark.parametrize(
    "replaced", [None, [], "x", 7, {"t0": 1}, {"t0": None}, {"t0": ["x"]}, {"t0": " \n"}]
)
def test_a_record_that_makes_no_sense_changes_nothing(replaced: object, tmp_path: Path) -> None:
    messages = conversation(2)
    writer = write(tmp_path, messages, {"type": "prune", "ts": 1.0, "replaced": replaced})
    writer.close()
    loaded = load_session(writer.folder)
    assert [message.content for message in loaded.messages] == [message.content for message in messages]
    assert loaded.replaced == {}


def test_what_a_compaction_copies_is_as_the_model_saw_it(tmp_path: Path) -> None:
    messages = conversation(3)
    writer = write(tmp_path, messages, prune_record({"t0": LINE, "t2": LINE}, ts=1.0))
    seen = load_session(writer.folder).messages
    summary = Message("s", "user", (Text("what was before"),), "compaction")
    begun = writer.compact((summary, *seen[3:]), turns=1, totals=Totals())
    writer.close()
    assert load_session(writer.folder).messages == begun
    assert text_of(begun[-1]) == LINE
    whole = load_history(writer.folder).messages
    assert [text_of(message) for message in whole if message.role == "tool"] == [
        text_of(message) for message in messages if message.role == "tool"
    ]


def test_a_rewind_keeps_it(tmp_path: Path) -> None:
    messages = conversation(3)
    writer = write(tmp_path, messages, prune_record({"t0": LINE}, ts=1.0))
    writer.rewind("t1")
    writer.append(Message("u1", "user", (Text("another way"),)))
    writer.close()
    loaded = load_session(writer.folder)
    assert [message.id for message in loaded.messages] == ["u0", "a0", "t0", "a1", "t1", "u1"]
    assert text_of(loaded.messages[2]) == LINE


def test_the_catalogue_counts_no_message_for_it() -> None:
    state = SessionState()
    lines = [json.dumps(prune_record({"t0": "a secret word"}, ts=5.0)).encode()]
    found = [message for line in lines for message in fold_line(state, line, lambda key: True)]
    assert not found
    assert (state.messages, state.broken, state.last_ts) == (0, 0, 5.0)


def test_the_history_says_what_each_message_follows(tmp_path: Path) -> None:
    """Behind a marker that is the last of the copies, so that a way back leads to all of them."""
    messages = conversation(2)
    writer = write(tmp_path, messages)
    summary = Message("s", "user", (Text("what was before"),), "compaction")
    begun = writer.compact((summary, *messages[3:]), turns=1, totals=Totals())
    writer.append(Message("u1", "user", (Text("go on"),)))
    writer.close()
    follows = load_history(writer.folder).follows
    assert follows["u0"] is None
    assert follows["t0"] == "a0"
    assert follows["u1"] == begun[-1].id
    assert load_session(writer.folder).follows == {}
