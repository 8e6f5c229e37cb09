"""Loading: what can be read is read, the rest is counted."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_strategies import JSON, assistant, messages, tool, user

from mewcode.core.errors import SessionError
from mewcode.core.message import Message, Text, Usage
from mewcode.sessions.reader import load_session
from mewcode.sessions.record import (
    Totals,
    encode_message,
    encode_record,
    session_record,
    state_record,
    usage_record,
)
from mewcode.sessions.salvage import salvage

START = encode_record(session_record("s", ts=1.0, cwd="/w", mode="default", provider="p", model="m0"))


def line(message: Message, parent: object = ..., **more) -> bytes:
    options = {"ts": 5.0} | more
    return (
        encode_message(message, **options)
        if parent is ...
        else encode_message(message, parent=parent, **options)
    )


@pytest.fixture
def load(tmp_path):
    def run(*lines: bytes):
        (tmp_path / "conversation.jsonl").write_bytes(b"".join(lines))
        return load_session(tmp_path)

    return run


def ids(session) -> list[str]:
    return [message.id for message in session.messages]


def test_a_whole_session(load, tmp_path):
    totals = Totals({"m1": Usage(10, 20)}, 0.5)
    session = load(
        START,
        line(user("u1"), None, ts=2.0, model="m0"),
        line(assistant("a1", "c1"), "u1", ts=3.0, model="m1"),
        line(tool("t1", "c1"), "a1", ts=4.0),
        encode_record(usage_record(totals, ts=4.5)),
        line(assistant("a2"), "t1", ts=5.0),
        encode_record(state_record(ts=6.0, mode="plan")),
    )
    assert session.messages == (user("u1"), assistant("a1", "c1"), tool("t1", "c1"), assistant("a2"))
    assert (session.id, session.cwd, session.provider) == (tmp_path.name, "/w", "p")
    assert (session.mode, session.model) == ("plan", "m1")
    assert (session.totals, session.last_ts, session.last_id) == (totals, 6.0, "a2")
    assert (session.skipped, session.salvaged, session.damage) == (0, 0, [])


def test_an_empty_file_and_a_missing_one(load, tmp_path):
    session = load(b"")
    assert (session.messages, session.last_id, session.totals) == ((), None, Totals())
    (tmp_path / "conversation.jsonl").unlink()
    with pytest.raises(SessionError, match="cannot be read: No such file"):
        load_session(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_and_does_not_wait(tmp_path, make):
    make(tmp_path / "conversation.jsonl")
    with pytest.raises(SessionError):
        load_session(tmp_path)


BAD = [
    b"null",
    b"[]",
    b"{}",
    b'"x"',
    b"NaN",
    b"-Infinity",
    b"{",
    b'{"type":"from-the-future","id":"u1","role":"user","content":"x"}',
    b'{"type":7}',
    b'{"role":"user"}',
    b'{"role":[],"content":"x"}',
    b'{"id":"z","role":"user","content":"\xff\xfe"}',
    b"\x00\x00\x00",
    b"[" * 50_000,
    b'{"role":"user","content":"half a li',
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_is_skipped_and_counted(load, bad):
    good = [line(user("u1"), None), line(assistant("a1"), "u1")]
    session = load(START, good[0], bad + b"\n", good[1])
    assert ids(session) == ["u1", "a1"]
    assert (session.skipped, session.salvaged) == (1, 0)
    assert session.damage[0].startswith("line 3: ")


def test_damage_is_counted_in_full_and_named_in_part(load):
    session = load(START, *[b"junk\n"] * 1000, line(user("u1")))
    assert ids(session) == ["u1"]
    assert session.skipped == 1000
    assert len(session.damage) == 21
    assert session.damage[-1] == "and 980 more"


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_no_damage(load):
    session = load(b"\xef\xbb\xbf" + START, b"\n", line(user("u1"))[:-1] + b"\r\n", b"  \n", line(user("u2")))
    assert ids(session) == ["u1", "u2"]
    assert (session.skipped, session.damage, session.cwd) == (0, [], "/w")


def test_lines_end_at_a_newline_only(load):
    text = "a\u2028b\u2029c\x0bd\x0ce\x1cf\x85g\rh"
    raw = json.dumps({"role": "user", "content": text, "ts": 1}, ensure_ascii=False).replace("\\r", "\r")
    session = load(line(user("u1", text)), raw.replace("\r", "").encode() + b"\n")
    assert [message.text for message in session.messages] == [text, text.replace("\r", "")]


def test_a_file_without_a_newline_at_its_end(load):
    assert ids(load(START, line(user("u1")), line(user("u2"))[:-1])) == ["u1", "u2"]


@pytest.mark.parametrize("cut", [1, 2, 20, 60, -2])
def test_a_record_behind_a_torn_one_is_salvaged(load, cut):
    torn = line(assistant("a1", "c1"), "u1")[:cut]
    session = load(START, line(user("u1"), None), torn + line(user("u2"), "u1"), line(user("u3"), "u2"))
    assert ids(session) == ["u1", "u2", "u3"]
    assert (session.skipped, session.salvaged) == (1, 1)


def test_two_whole_records_on_one_line_are_both_salvaged(load):
    session = load(
        line(user("u1"))[:-1] + line(user("u2"))[:-1] + encode_record(state_record(ts=9, mode="plan"))
    )
    assert ids(session) == ["u1", "u2"]
    assert (session.skipped, session.salvaged, session.mode) == (0, 3, "plan")


def test_nul_bytes_before_a_record_are_what_a_power_cut_leaves(load):
    session = load(b"\x00" * 4096 + line(user("u1")))
    assert (ids(session), session.skipped, session.salvaged) == (["u1"], 1, 1)


def test_an_object_within_a_torn_record_is_no_record():
    torn = line(assistant("a1", "c1"))
    for cut in range(1, len(torn) - 2):
        assert salvage(torn[:cut]) == ([], True)
    inner = b'{"id":"x","content":[{"role":"user","content":"inner"}],"more":['
    assert salvage(inner) == ([], True)


def test_a_line_made_to_keep_the_salvager_busy_ends():
    assert salvage(b'{"a":[' * 400_000)[0] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(messages(), st.integers(0, 300)), min_size=1, max_size=5))
def test_good_records_survive_any_torn_ones_before_them(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("torn")
    content, expected = b"", []
    for number, (message, cut) in enumerate(pairs):
        numbered = Message(f"m{number}", message.role, message.content)
        torn = encode_message(message, ts=1)[:-2]
        content += torn[:cut] + encode_message(numbered, ts=1)
        expected.append(numbered.id)
    (folder / "conversation.jsonl").write_bytes(content)
    assert ids(load_session(folder)) == expected


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            JSON.map(lambda value: json.dumps(value).encode()),
            st.fixed_dictionaries(
                {"role": st.sampled_from(["user", "assistant", "tool"]), "content": st.just("x")},
                optional={
                    "id": st.sampled_from(["a", "b", "c", 1, "message-1"]),
                    "parent": st.sampled_from(["a", "b", "c", "none", None, 1, []]),
                },
            ).map(lambda value: json.dumps(value).encode()),
        ),
        max_size=12,
    )
)
def test_any_file_loads_and_its_ids_are_unique(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("any")
    (folder / "conversation.jsonl").write_bytes(b"\n".join(lines))
    first, second = load_session(folder), load_session(folder)
    assert first == second
    assert len(set(ids(first))) == len(ids(first))
    assert first.skipped <= sum(each.count(b"\n") + 1 for each in lines)


def test_a_parent_that_is_not_there_is_the_message_before(load):
    session = load(line(user("u1"), None), line(assistant("a1"), "lost"), line(user("u2"), "a1"))
    assert ids(session) == ["u1", "a1", "u2"]
    assert (session.skipped, len(session.damage)) == (0, 1)


def test_parent_cycles_are_cut(load):
    assert ids(load(line(user("u1"), "u1"), line(user("u2"), "u3"), line(user("u3"), "u2"))) == [
        "u1",
        "u2",
        "u3",
    ]


def test_the_branch_of_the_last_message_is_the_conversation(load):
    session = load(
        line(user("u1"), None), line(assistant("a1"), "u1"), line(user("u2"), "a1"), line(user("u2b"), "a1")
    )
    assert ids(session) == ["u1", "a1", "u2b"]
    assert session.damage == []
    assert ids(load(line(user("u1"), None), line(user("u2"), "u1"), line(user("u3"), None))) == ["u3"]


def test_a_file_that_names_no_parent_is_one_line_of_messages(load):
    plain = [{"role": role, "content": role, "ts": 1} for role in ("user", "assistant", "user")]
    without = load(*(json.dumps(each).encode() + b"\n" for each in plain))
    nulls = load(*(json.dumps(each | {"parent": None}).encode() + b"\n" for each in plain))
    assert [message.text for message in without.messages] == ["user", "assistant", "user"]
    assert without.messages == load(*(json.dumps(each).encode() + b"\n" for each in plain)).messages
    assert [message.text for message in nulls.messages] == ["user", "assistant", "user"]
    assert len(set(ids(without))) == len(set(ids(nulls))) == 3


def test_a_plain_file_can_be_continued_by_the_ids_it_was_given(load):
    plain = b'{"role":"user","content":"a"}\n{"role":"assistant","content":"b"}\n'
    first, second = ids(load(plain))
    assert ids(load(plain, line(user("u"), second))) == [first, second, "u"]
    assert ids(load(plain, line(user("u"), first))) == [first, "u"]
    assert ids(load(plain, line(user("u")))) == [first, second, "u"]


def test_a_repeated_record_is_left_out_and_another_under_its_id_is_kept(load):
    session = load(
        line(user("u1"), None),
        line(user("u1"), None),
        line(user("u1", "another"), "u1"),
        line(user("u2"), "u1"),
    )
    assert [message.text for message in session.messages] == ["text of u1", "another", "text of u2"]
    assert len(set(ids(session))) == 3
    assert (session.skipped, len(session.damage)) == (1, 2)


def test_totals_are_the_last_usage_record_and_what_came_after(load):
    spent = Message("a", "assistant", (Text("x"),), "model", "m1", Usage(1, 2, 3, 4))
    other = Message("b", "assistant", (Text("y"),), "model", "m2", Usage(5))
    record = encode_record(usage_record(Totals({"m1": Usage(100)}, 1.5), ts=2))
    session = load(line(spent, model="m1"), record, line(spent, model="m1"), line(other, model="m2"))
    assert session.totals == Totals({"m1": Usage(100), "m2": Usage(5)}, 1.5)


def test_fifty_megabytes_load_whole(tmp_path):
    texts = "line of code with 中文 and é\n" * 600
    with (tmp_path / "conversation.jsonl").open("wb") as stream:
        stream.write(START)
        for number in range(900):
            stream.write(line(user(f"u{number}"), f"t{number - 1}" if number else None))
            stream.write(line(assistant(f"a{number}", f"c{number}"), f"u{number}"))
            stream.write(line(tool(f"t{number}", f"c{number}", texts * 3), f"a{number}"))
    size = (tmp_path / "conversation.jsonl").stat().st_size
    assert size > 50_000_000
    session = load_session(tmp_path)
    assert (len(session.messages), session.skipped, session.last_id) == (2700, 0, "t899")
