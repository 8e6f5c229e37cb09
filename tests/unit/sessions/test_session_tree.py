"""Compaction, rewinds and forks as they are read back; the odd cases, by hand."""

from __future__ import annotations

import os

import pytest
from session_strategies import assistant, tool, user

from mewcode.core.message import Message, Text, Usage
from mewcode.sessions.reader import LoadedSession, load_history, load_session
from mewcode.sessions.record import (
    Base,
    Fork,
    Totals,
    brief_record,
    compact_record,
    encode_message,
    encode_record,
    reads_record,
    rewind_record,
    session_record,
    title_record,
    usage_record,
)

ABOUT = {"mode": "plan", "provider": "p9", "model": "m9"}
SPENT = Totals({"m9": Usage(7, 8)}, 0.25)
START = encode_record(
    session_record("s", ts=1.0, cwd="/w", mode="default", provider="p", model="m0", seal="sealed")
)


def line(message: Message, parent: object = ..., of: str = "") -> bytes:
    made = (
        encode_message(message, ts=5.0)
        if parent is ...
        else encode_message(message, ts=5.0, parent=parent, model="")
    )
    return made[:-2] + f',"of":"{of}"}}\n'.encode() if of else made


def marker(name: str, parent: str | None, turns: int = 2) -> bytes:
    return encode_record(compact_record(name, ts=6.0, parent=parent, about=ABOUT, turns=turns, totals=SPENT))


def rewind(to: str | None) -> bytes:
    return encode_record(rewind_record("r", ts=7.0, to=to, before=None))


def ids(session: LoadedSession) -> list[str]:
    return [message.id for message in session.messages]


@pytest.fixture
def write(tmp_path):
    folder = tmp_path / "s"
    folder.mkdir()

    def run(*lines: bytes, name: str = "conversation.jsonl"):
        (folder / name).write_bytes(b"".join(lines))
        return folder

    return run


BEFORE = (START, line(user("u1"), None), line(assistant("a1"), "u1"), line(user("u2"), "a1"))


def test_a_marker_says_all_that_stands_before_it(write):
    folder = write(*BEFORE, marker("m", "u2"), line(user("k"), "m", of="u2"), line(assistant("a2"), "k"))
    session = load_session(folder)
    assert ids(session) == ["k", "a2"]
    assert (session.mode, session.provider, session.model, session.cwd) == ("plan", "p9", "m9", "/w")
    assert (session.totals, session.turns, session.seal, session.unknown) == (SPENT, 2, "sealed", ())
    assert session.is_whole
    assert (folder / "conversation.jsonl").read_bytes()[session.start :].startswith(b'{"type":"compact"')
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2"]


@pytest.mark.parametrize("parent", [..., "m", "u2"])
def test_what_follows_a_marker_begins_the_conversation(write, parent):
    folder = write(*BEFORE, marker("m", "u2"), line(assistant("a2"), parent), line(user("u3")))
    assert ids(load_session(folder)) == ["a2", "u3"]
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2", "u3"]


def test_a_marker_of_few_words_counts_as_well(write):
    folder = write(*BEFORE, b'{"type":"compact"}\n', line(assistant("a2")))
    session = load_session(folder)
    assert ids(session) == ["a2"]
    assert set(session.unknown) == {"mode", "provider", "model", "totals", "turns"}
    assert (session.mode, session.model) == ("default", "m0")
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2"]


def test_a_marker_at_the_end_is_what_the_next_message_follows(write):
    session = load_session(write(*BEFORE, marker("m", "u2")))
    assert (session.messages, session.last_id) == ((), "m")
    assert load_session(write(*BEFORE, b'{"type":"compact"}\n')).last_id.startswith("compact-")


def test_a_marker_that_is_written_otherwise_is_found_too(write):
    odd = b'{"id":"m", "type":"compact","parent":"u2","turns":true,"usage":[],"mode":7}\n'
    folder = write(*BEFORE, odd, line(assistant("a2"), "m"))
    assert ids(load_session(folder)) == ["a2"]
    assert load_session(folder).turns == 2


def test_back_to_before_a_marker(write):
    lines = (*BEFORE, marker("m", "u2"), line(user("k"), "m", of="u2"), line(assistant("a2"), "k"))
    folder = write(*lines, rewind("a1"), line(user("u3"), "a1"))
    assert ids(load_session(folder)) == ids(load_history(folder)) == ["u1", "a1", "u3"]
    assert load_session(folder).start == 0
    folder = write(*lines, rewind("a1"), line(user("u3")), rewind("a2"), line(user("u4")))
    assert ids(load_session(folder)) == ["k", "a2", "u4"]
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2", "u4"]


def test_back_to_a_copy_is_back_to_what_it_is_a_copy_of(write):
    folder = write(
        *BEFORE,
        marker("m", "u2"),
        line(assistant("k1"), "m", of="a1"),
        line(user("k2"), "k1", of="u2"),
        rewind("k1"),
        line(user("u3"), "k1"),
    )
    assert ids(load_session(folder)) == ["k1", "u3"]
    assert ids(load_history(folder)) == ["u1", "a1", "u3"]


def test_copies_of_copies_lead_to_what_was_written_first(write):
    folder = write(
        *BEFORE,
        marker("m1", "u2"),
        line(user("k"), "m1", of="u2"),
        marker("m2", "k"),
        line(user("kk"), "m2", of="k"),
        line(assistant("a2"), "kk"),
    )
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2"]
    folder = write(*BEFORE, marker("m", "u2"), line(user("k"), "m", of="lost"), line(assistant("a2"), "k"))
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2"]


def test_a_rewind_and_one_back(write):
    folder = write(*BEFORE, rewind("u1"))
    assert (ids(load_session(folder)), load_session(folder).last_id) == (["u1"], "u1")
    folder = write(*BEFORE, rewind(None))
    assert (ids(load_session(folder)), load_session(folder).last_id) == ([], None)
    folder = write(*BEFORE, rewind(None), line(user("u3"), None), rewind("u2"), line(assistant("a2")))
    assert ids(load_session(folder)) == ["u1", "a1", "u2", "a2"]
    assert load_session(folder).turns == 3


@pytest.mark.parametrize("to", ['"lost"', "7", "[]", '"u9"'])
def test_a_way_back_to_nowhere_is_damage(write, to):
    folder = write(*BEFORE, f'{{"type":"rewind","id":"r","to":{to}}}\n'.encode(), line(assistant("a2")))
    session = load_session(folder)
    assert ids(session) == ["u1", "a1", "u2", "a2"]
    assert (session.skipped, len(session.damage)) == (1, 1)


def test_a_rewind_in_a_plain_file(write):
    plain = [b'{"role":"user","content":"%d"}\n' % n for n in range(3)]
    first = load_session(write(*plain))
    back = load_session(write(*plain, rewind(first.messages[1].id), plain[0]))
    assert [message.text for message in back.messages] == ["0", "1", "0"]


def test_what_was_read_and_how_it_is_called(write):
    folder = write(
        *BEFORE,
        encode_record(reads_record({"/a": {"n": 1}, "/b": {"n": 1}}, ts=8.0)),
        encode_record(title_record("mine", ts=80.0)),
        encode_record(reads_record({"/b": {"n": 2}}, ts=9.0)),
        b'{"type":"reads","files":{"/c":7}}\n{"type":"reads","files":[]}\n',
        encode_record(title_record("made", ts=81.0, auto=True)),
        encode_record(brief_record("what was done", ts=82.0)),
        b'{"type":"title","title":7}\n',
    )
    session = load_session(folder)
    assert session.reads == {"/a": {"n": 1}, "/b": {"n": 2}}
    assert (session.title, session.last_ts) == ("mine", 9.0)
    assert load_session(write(*BEFORE, encode_record(title_record("made", ts=1, auto=True)))).title == "made"


def fork(message: str | None, *bases: object, **more: object) -> bytes:
    made = Fork("old", message, [])
    record = session_record(
        "s", ts=9.0, cwd="/f", mode="plan", provider="p2", model="m2", seal="own", fork=made
    )
    return encode_record(record | {"bases": list(bases)} | more)


OLD = (
    encode_record(
        session_record("old", ts=1.0, cwd="/w", mode="default", provider="p", model="m0", seal="theirs")
    ),
    line(user("u1"), None),
    line(assistant("a1", "c1"), "u1"),
    line(tool("t1", "c1"), "a1"),
    encode_record(title_record("old one", ts=1.0)),
    encode_record(usage_record(SPENT, ts=2.0)),
)


def test_a_fork_is_what_it_continues_and_its_own(write):
    base = Base("base-0.jsonl", sum(map(len, OLD)))
    write(*OLD, line(user("later"), "t1"), name="base-0.jsonl")
    folder = write(fork("t1", {"file": base.file, "bytes": base.bytes}), line(assistant("a2"), "t1"))
    for session in (load_session(folder), load_session(folder, tokens=10_000), load_history(folder)):
        assert ids(session) == ["u1", "a1", "t1", "a2"]
        assert (session.id, session.seal, session.parent_session, session.title) == ("s", "own", "old", "")
        assert (session.cwd, session.mode, session.provider, session.model) == ("/f", "plan", "p2", "m2")
        assert (session.totals, session.turns, session.damage) == (SPENT, 1, [])
    folder = write(fork("u1", {"file": base.file, "bytes": base.bytes}), line(assistant("a2")))
    assert ids(load_session(folder)) == ["u1", "a2"]
    folder = write(fork(None, {"file": base.file, "bytes": base.bytes}), line(user("u9")))
    assert ids(load_session(folder)) == ["u9"]


def test_a_fork_of_a_compacted_session_begins_at_the_marker(write):
    write(*BEFORE, marker("m", "u2"), line(user("k"), "m", of="u2"), name="b")
    size = (write() / "b").stat().st_size
    folder = write(fork("k", {"file": "b", "bytes": size}), line(assistant("a2")))
    assert ids(load_session(folder)) == ["k", "a2"]
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2"]
    folder = write(fork("a1", {"file": "b", "bytes": size}), line(user("u3")))
    assert ids(load_session(folder)) == ["u1", "a1", "u3"]


ODD_BASES = [
    {"file": "../b", "bytes": 10},
    {"file": "/etc/passwd", "bytes": 10},
    {"file": "conversation.jsonl", "bytes": 10},
    {"file": "..", "bytes": 10},
    {"file": "", "bytes": 10},
    {"file": "a\x00b", "bytes": 10},
    {"file": "\ud800", "bytes": 10},
    {"file": "b" * 300, "bytes": 10},
    {"file": "lost", "bytes": 10},
    {"file": "link", "bytes": 10},
    {"file": "pipe", "bytes": 10},
    {"file": "folder", "bytes": 10},
    {"file": "b", "bytes": -1},
    {"file": "b", "bytes": True},
    {"file": "b", "bytes": 2**80},
    {"file": "b", "bytes": "10"},
    {"file": 7},
    None,
    7,
]


@pytest.mark.parametrize("base", ODD_BASES, ids=repr)
def test_an_odd_base_is_damage(write, base):
    folder = write(*OLD, name="b")
    (folder / "link").symlink_to("b")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    session = load_session(write(fork("t1", base), line(user("u9"))))
    assert ids(session) == ["u9"]
    assert session.skipped == 1
    assert session.damage[-1].endswith("the message that it continues is not there")


def test_a_base_that_is_too_short_or_named_twice_gives_what_it_has(write):
    write(*OLD, name="b")
    twice = load_session(write(fork("t1", {"file": "b", "bytes": 10**6}, {"file": "b", "bytes": 5})))
    assert ids(twice) == ["u1", "a1", "t1"]
    assert twice.skipped == 2


def test_a_base_that_ends_within_a_line_does_not_spoil_the_next_file(write):
    write(*OLD, line(assistant("torn"), "t1"), name="b")
    size = sum(map(len, OLD)) + 20
    session = load_session(write(fork("t1", {"file": "b", "bytes": size}), line(user("u9"))))
    assert ids(session) == ["u1", "a1", "t1", "u9"]
    assert session.damage == ["b, line 7: not JSON: skipped"]


def test_a_torn_first_record_does_not_hide_the_session_behind_it(write):
    folder = write(START[:30] + b"\n", *BEFORE, marker("m", "u2"))
    assert (load_session(folder).seal, load_session(folder).cwd) == ("sealed", "/w")
    assert load_session(write(b"\xef\xbb\xbf", *BEFORE)).seal == "sealed"
    assert load_session(write(*BEFORE[1:], START)).seal == ""


def test_text_stays_as_it_was(write):
    message = user("u", "中文 \u2028 é")
    folder = write(START, marker("m", None), line(message, "m"))
    assert load_session(folder, tokens=1).messages == (message,)
    assert message.content == (Text("中文 \u2028 é"),)


def test_a_marker_under_an_id_already_used_gets_one_of_its_own(write):
    folder = write(*BEFORE, marker("u1", "u2"), line(assistant("a2"), "u1"))
    assert ids(load_session(folder)) == ["a2"]
    assert ids(load_history(folder)) == ["u1", "a1", "u2", "a2"]
