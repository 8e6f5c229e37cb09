"""The writer's way back, and its new beginnings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_strategies import FailingCalls, assistant, tool, user

from mewcode.core.message import Message, Text, Usage
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.record import Totals, state_record

TOTALS = Totals({"m1": Usage(10, 20)}, 0.5)


def create(folder, **options) -> SessionWriter:
    return SessionWriter.create(folder, cwd="/w", provider="p", model="m0", mode="default", **options)


def filled(folder, *names: str, **options) -> SessionWriter:
    writer = create(folder, **options)
    for name in names:
        writer.append(user(name) if name.startswith("u") else assistant(name))
    return writer


def records(writer: SessionWriter) -> list[dict]:
    text = (writer.folder / "conversation.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def ids(folder) -> list[str]:
    return [message.id for message in load_session(folder).messages]


def size(writer: SessionWriter) -> int:
    return (writer.folder / "conversation.jsonl").stat().st_size


def summary(name: str = "s1") -> Message:
    return Message(name, "user", (Text("what was done"),), "compaction")


def test_the_head_is_the_last_message(tmp_path):
    writer = create(tmp_path)
    assert writer.head is None
    writer.append(user("u1"))
    assert writer.head == "u1"
    writer.close()
    again = SessionWriter.open(writer.folder)
    assert again.head == "u1"
    again.append(assistant("a1"))
    assert again.head == "a1"
    again.close()


def test_a_rewind_is_one_record_and_the_next_message_follows_there(tmp_path):
    writer = filled(tmp_path, "u1", "a1", "u2", "a2")
    before = len(records(writer))
    writer.rewind("a1")
    assert writer.head == "a1"
    (record,) = records(writer)[before:]
    assert {key: record[key] for key in ("type", "to", "from")} == {
        "type": "rewind",
        "to": "a1",
        "from": "a2",
    }
    assert load_session(writer.folder).last_id == "a1"
    writer.append(user("u3"))
    assert ids(writer.folder) == ["u1", "a1", "u3"]
    writer.rewind("a2")  # a rewind is undone by another
    assert ids(writer.folder) == ["u1", "a1", "u2", "a2"]
    writer.rewind(None)
    assert ids(writer.folder) == []
    writer.append(user("u4"))
    writer.close()
    assert ids(writer.folder) == ["u4"]


def test_a_rewind_to_where_it_stands_writes_nothing(tmp_path):
    writer = filled(tmp_path, "u1", "a1")
    before = size(writer)
    writer.rewind("a1")
    assert size(writer) == before
    writer.close()
    fresh = create(tmp_path / "other")
    fresh.rewind(None)
    fresh.close()
    assert not fresh.folder.exists()


def test_a_compaction_begins_the_conversation_anew(tmp_path):
    calls = FailingCalls()
    writer = filled(tmp_path, "u1", "a1", "u2", "a2", calls=calls)
    kept = load_session(writer.folder).messages[2:]
    before, writes = len(records(writer)), len(calls.writes)
    begun = writer.compact([summary(), *kept], turns=2, totals=TOTALS)
    marker, *rest = records(writer)[before:]
    assert (marker["type"], marker["parent"], marker["turns"], marker["messages"]) == ("compact", "a2", 2, 3)
    assert (marker["mode"], marker["provider"], marker["model"]) == ("default", "p", "m0")
    assert [record.get("of") for record in rest] == [None, "u2", "a2"]
    assert rest[0]["parent"] == marker["id"]
    assert [record["parent"] for record in rest[1:]] == [record["id"] for record in rest[:2]]
    assert len(calls.writes) - writes == 4
    assert [message.id for message in begun] == [record["id"] for record in rest]
    assert begun[0].id == "s1"
    assert {"u2", "a2"}.isdisjoint(message.id for message in begun)
    assert [message.content for message in begun[1:]] == [message.content for message in kept]
    assert writer.head == begun[-1].id
    writer.append(user("u3"))
    writer.close()
    loaded = load_session(writer.folder)
    assert loaded.messages[:3] == begun
    assert loaded.messages[3].id == "u3"
    assert loaded.messages[2].model == "m1"
    assert loaded.totals.models["m1"] == Usage(10, 20)
    whole = [message.id for message in load_history(writer.folder).messages]
    assert [name for name in whole if name != "s1"] == ["u1", "a1", "u2", "a2", "u3"]


def test_a_compaction_is_durable_at_once(tmp_path):
    calls = FailingCalls()
    writer = filled(tmp_path, "u1", calls=calls)
    writer.flush()
    before = calls.syncs
    writer.compact([summary()], turns=1, totals=TOTALS)
    writer.flush()
    assert calls.syncs == before + 1
    writer.close()


def test_an_unchanged_history_writes_nothing(tmp_path):
    writer = filled(tmp_path, "u1", "a1", "u2")
    before = size(writer)
    messages = load_session(writer.folder).messages
    assert writer.compact(messages, turns=2, totals=TOTALS) == messages
    assert size(writer) == before
    begun = writer.compact([summary(), *messages[1:]], turns=2, totals=TOTALS)
    before = size(writer)
    assert writer.compact(begun, turns=2, totals=TOTALS) == begun
    writer.append(user("u3"))
    after = size(writer)
    loaded = load_session(writer.folder).messages
    assert writer.compact(loaded, turns=3, totals=TOTALS) == loaded
    assert size(writer) == after > before
    writer.close()
    again = SessionWriter.open(writer.folder)
    assert again.compact(loaded, turns=3, totals=TOTALS) == loaded
    assert size(writer) == after
    again.close()


def test_a_part_of_the_conversation_is_a_change(tmp_path):
    writer = filled(tmp_path, "u1", "a1", "u2")
    begun = writer.compact(load_session(writer.folder).messages[2:], turns=2, totals=TOTALS)
    writer.close()
    assert load_session(writer.folder).messages == begun
    assert len(begun) == 1


def test_what_a_rewind_left_behind_is_archived_all_the_same(tmp_path):
    writer = filled(tmp_path, "u1", "a1", "u2")
    messages = load_session(writer.folder).messages
    writer.rewind("a1")
    begun = writer.compact(messages, turns=2, totals=TOTALS)
    assert [record.get("of") for record in records(writer)[-3:]] == ["u1", "a1", "u2"]
    writer.close()
    assert load_session(writer.folder).messages == begun


def test_a_session_that_is_continued_knows_what_was_loaded(tmp_path):
    writer = filled(tmp_path, "u1", "a1", "u2")
    writer.append_record(state_record(ts=1, mode="plan", model="m9", provider="q"))
    writer.close()
    for follows in (True, False):
        again = SessionWriter.open(writer.folder)
        loaded = load_session(writer.folder)
        if follows:
            again.follow(loaded)
        begun = again.compact([summary(f"s{follows}"), *loaded.messages[-1:]], turns=2, totals=TOTALS)
        marker = records(writer)[-3]
        assert (marker["mode"], marker["model"], marker["provider"]) == ("plan", "m9", "q")
        assert records(writer)[-1]["of"] == loaded.messages[-1].id
        again.close()
        assert load_session(writer.folder).messages == begun


def test_compacting_to_nothing(tmp_path):
    writer = filled(tmp_path, "u1", "a1")
    assert writer.compact([], turns=1, totals=TOTALS) == ()
    writer.append(user("u2"))
    writer.close()
    assert ids(writer.folder) == ["u2"]


def test_a_compaction_broken_off_at_any_record_leaves_the_conversation_of_before(tmp_path):
    writer = filled(tmp_path, "u1", "a1", "u2", "a2")
    messages = load_session(writer.folder).messages
    before = size(writer)
    begun = writer.compact([summary(), *messages[1:]], turns=2, totals=TOTALS)
    writer.close()
    path = writer.folder / "conversation.jsonl"
    whole = path.read_bytes()
    for cut in range(before, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert load_session(writer.folder).messages == messages
        assert load_session(writer.folder, tokens=1_000).messages == messages
    path.write_bytes(whole[:-20])
    again = SessionWriter.open(writer.folder)
    again.append(user("u3"))
    again.close()
    assert ids(writer.folder) == ["u1", "a1", "u2", "a2", "u3"]
    assert [message.id for message in load_history(writer.folder).messages] == ["u1", "a1", "u2", "a2", "u3"]
    path.write_bytes(whole)
    assert load_session(writer.folder).messages == begun


def test_a_compaction_broken_off_behind_another_one(tmp_path):
    writer = filled(tmp_path, "u1", "a1", "u2", "a2")
    first = writer.compact([summary()], turns=2, totals=TOTALS)
    before = size(writer)
    writer.compact([summary("s2"), *first], turns=2, totals=TOTALS)
    writer.close()
    path = writer.folder / "conversation.jsonl"
    path.write_bytes(path.read_bytes()[: before + 300])
    for loaded in (load_session(writer.folder), load_session(writer.folder, tokens=1_000)):
        assert loaded.messages == first


@settings(max_examples=60, deadline=None)
@given(room=st.integers(0, 1_500), most=st.sampled_from([None, 7]))
def test_a_full_disk_during_a_compaction(tmp_path_factory, room, most):
    calls = FailingCalls()
    writer = filled(tmp_path_factory.mktemp("full"), "u1", "a1", "u2", calls=calls)
    writer.append(tool("t1", "c1"))
    messages = load_session(writer.folder).messages
    calls.limit, calls.most = room, most
    begun = writer.compact([summary(), *messages[1:]], turns=2, totals=TOTALS)
    stands = load_session(writer.folder).messages
    assert stands in (messages, begun)
    calls.limit = None
    writer.append(user("u3"))
    assert writer.failing is None
    writer.close()
    assert load_session(writer.folder).messages == (*begun, user("u3"))


@pytest.mark.parametrize("number", range(5))
def test_a_call_that_fails_once_during_a_compaction(tmp_path, number):
    calls = FailingCalls()
    writer = filled(tmp_path, "u1", "a1", "u2", calls=calls)
    calls.fail_at = calls.calls + number
    begun = writer.compact([summary(), *load_session(writer.folder).messages[1:]], turns=2, totals=TOTALS)
    writer.close()
    assert load_session(writer.folder).messages == begun
