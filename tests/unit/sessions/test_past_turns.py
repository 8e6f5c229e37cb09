"""The turns of a session, found again in its file under the numbers that the index gives them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Message, Text, Usage
from mewcode.recall_turns import read_turns
from mewcode.sessions.record import Totals, encode_message, encode_record, usage_record
from mewcode.sessions.turns import TurnsFound, find_turn, turn_at
from tests.support.archive import answered, asked, head, make_session, said


def texts(folder: Path, number: int) -> list[str]:
    turn = find_turn(folder, number).turn
    return [] if turn is None else [message.id for message in turn.messages]


def test_a_turn_is_the_users_message_and_what_came_of_it(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path,
        "s1",
        head("s1"),
        said("m1", "为什么", 5.0),
        asked("m2", "c1", command="ls"),
        answered("m3", "c1", "files"),
        said("m4", "因为", role="assistant"),
        said("m5", "next", 9.0),
    )
    found = find_turn(folder, 1)
    assert found.turn is not None
    assert [message.id for message in found.turn.messages] == ["m1", "m2", "m3", "m4"]
    assert (found.turn.when, found.first, found.has_next) == (5.0, 1, True)
    assert not find_turn(folder, 2).has_next
    assert texts(folder, 2) == ["m5"]
    assert find_turn(folder, 3) == TurnsFound(None, 1)
    assert find_turn(folder, 0) == TurnsFound(None, 1)


def test_reminders_copies_and_what_was_written_twice_are_left_out(tmp_path: Path) -> None:
    reminder = Message("r1", "user", (Text("<system-reminder>x</system-reminder>"),), "reminder")
    summed_up = Message("r2", "user", (Text("what was before"),), "compaction")
    copy = encode_message(Message("m9", "user", (Text("one"),)), ts=1.0)
    copy = copy.replace(b'"id":"m9"', b'"id":"m9","of":"m1"')
    folder = make_session(
        tmp_path,
        "s1",
        said("m1", "one"),
        encode_message(reminder, ts=1.0),
        said("m2", "answer", role="assistant"),
        said("m2", "answer", role="assistant"),
        encode_message(summed_up, ts=1.0),
        copy,
        said("m3", "two"),
    )
    assert texts(folder, 1) == ["m1", "m2"]
    assert texts(folder, 2) == ["m3"]


def test_a_fork_counts_on_from_where_it_left_off(tmp_path: Path) -> None:
    usage = encode_record(usage_record(Totals({"m": Usage(1, 1)}, 0.0), ts=1.0, turns=4) | {"carried": True})
    folder = make_session(tmp_path, "s2", head("s2", parent_session="s1"), usage, said("m1", "five"))
    assert texts(folder, 5) == ["m1"]
    assert find_turn(folder, 2) == TurnsFound(None, 5)


def test_broken_lines_do_no_harm(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path, "s1", b"\xff\xfe nonsense\n", said("m1", "one"), b'{"role":"user","con\n', b"{}\n",
        said("m2", "an answer", role="assistant"), said("m3", "two")[:-20],
    )  # fmt: skip
    assert texts(folder, 1) == ["m1", "m2"]


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        find_turn(tmp_path / "none", 1)
    (tmp_path / "s1").mkdir()
    (tmp_path / "s1/conversation.jsonl").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="links"):
        turn_at(tmp_path / "s1", 0, 100)


def test_it_ends_when_nobody_waits(tmp_path: Path) -> None:
    folder = make_session(tmp_path, "s1", *(said(f"m{number}", "x") for number in range(50)))
    assert find_turn(folder, 50, stop=lambda: True).turn is None


def test_at_a_place_only_a_turn_that_begins_there_is_read(tmp_path: Path) -> None:
    first = said("m1", "one")
    rest = [said("m2", "answer " * 100, role="assistant"), said("m3", "x", role="assistant")]
    folder = make_session(tmp_path, "s1", first, *rest, said("m4", "two"))
    assert [message.id for message in turn_at(folder, 0, 10_000)] == ["m1", "m2", "m3"]
    assert [message.id for message in turn_at(folder, 0, len(first) + 10)] == ["m1", "m2"]
    assert turn_at(folder, 5, 10_000) == ()
    assert turn_at(folder, len(first), 10_000) == ()
    assert turn_at(folder, 1_000_000, 10_000) == ()


LINES = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.sampled_from(["a", "b", "c"])),
        st.tuples(st.just("assistant"), st.sampled_from(["x", "y"])),
        st.tuples(st.sampled_from(["broken", "reminder"]), st.just("z")),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(LINES)
def test_the_numbers_are_those_of_the_index(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, str]]
) -> None:
    lines = []
    for number, (role, text) in enumerate(drawn):
        name = f"m{number % 5}-{text}"  # some are written twice
        if role == "broken":
            lines.append(b'{"role":"user","content":\n')
        elif role == "reminder":
            message = Message(name, "user", (Text(text),), "reminder")
            lines.append(encode_message(message, ts=1.0))
        else:
            lines.append(said(name, text, role=role))
    folder = make_session(tmp_path_factory.mktemp("sessions"), "s1", head("s1"), *lines)
    reading = read_turns(folder, b"")
    assert reading is not None
    for turn in reading.turns:
        found = find_turn(folder, turn.number).turn
        assert found is not None
        assert "\n".join(message.text for message in found.messages) == turn.text
        if turn.number:
            assert turn_at(folder, turn.start, 1 << 20)[0].id == found.messages[0].id
