"""However much of a session is read, and however it is damaged: what is returned is what stands there."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_scripts import STEPS, ForkScript, Script
from session_strategies import assistant, tool, user

from mewcode.core.message import Message, Text, ToolResult
from mewcode.core.tokens import message_tokens
from mewcode.sessions import earlier, loading, record_files
from mewcode.sessions.reader import LoadedSession, load_history, load_session
from mewcode.sessions.record import encode_message, encode_record, session_record, title_record
from mewcode.sessions.repair import is_sound, repair_messages

SCRIPTS = st.builds(
    lambda first, number, second: (
        Script().run(first) if number is None else ForkScript(Script().run(first), number).run(second)
    ),
    STEPS,
    st.one_of(st.none(), st.integers(0, 10_000)),
    STEPS,
)
REACHES = st.sampled_from([50, 400, 3_000])
SIGHTS = st.sampled_from([0, 500, 2_000, 10**6])


def agree(part: LoadedSession, whole: LoadedSession) -> None:
    """What is said to be known of a session is what reading all of it says."""
    for name in ("mode", "provider", "model", "totals", "turns", "title"):
        assert name in part.unknown or getattr(part, name) == getattr(whole, name), name
    assert part.cwd == whole.cwd
    assert part.turn_of == {name: whole.turn_of.get(name) for name in part.turn_of}


@contextmanager
def small(reach: int, sight: int = 500, block: int = 97):
    """Files of a few lines are read as those of a gigabyte are."""
    with (
        mock.patch.object(loading, "WINDOW", reach),
        mock.patch.object(loading, "WINDOW_OF_TOKEN", 0),
        mock.patch.object(earlier, "REACH", sight),
        mock.patch.object(earlier, "BEGINNING", 600),
        mock.patch.object(record_files, "_BLOCK", block),
    ):
        yield


def load_whole(folder: Path) -> LoadedSession:
    """As `load_session`, with every line read."""
    with mock.patch.object(loading, "find_marker", return_value=None):
        return load_session(folder)


@settings(max_examples=120, deadline=None)
@given(SCRIPTS, REACHES, SIGHTS)
def test_the_conversation_and_the_history_are_what_was_written(tmp_path_factory, script, reach, sight):
    folder = script.write(tmp_path_factory.mktemp("script"))
    with small(reach, sight):
        session, history, whole = load_session(folder), load_history(folder), load_whole(folder)
    assert session.messages == whole.messages == script.way.spoken
    assert history.messages == script.way.written
    assert session.last_id == whole.last_id == history.last_id == script.head
    assert (session.is_whole, history.is_whole) == (True, True)
    assert (whole.turns, whole.totals) == (script.turns, script.totals)
    agree(session, whole)
    assert session.damage == whole.damage == []
    assert whole.title == (script.titles[0] or script.titles[1])
    assert history.start == whole.start


@settings(max_examples=120, deadline=None)
@given(SCRIPTS, REACHES, SIGHTS, st.integers(0, 400))
def test_with_tokens_the_end_of_the_same_conversation_is_loaded(
    tmp_path_factory, script, reach, sight, tokens
):
    folder = script.write(tmp_path_factory.mktemp("script"))
    with small(reach, sight):
        end = load_session(folder, tokens=tokens)
    whole = load_whole(folder)
    count = len(end.messages)
    assert end.messages == (whole.messages[-count:] if count else ())
    assert end.last_id == whole.last_id
    agree(end, whole)
    if end.is_whole:
        assert count == len(whole.messages)
    else:
        assert end.messages[0].role != "tool"
        assert sum(map(message_tokens, end.messages)) >= tokens // 4
        assert end.start > 0


def damaged(lines: list[bytes], junk: list[tuple[int, bytes]]) -> bytes:
    """The lines with others among them."""
    lines = list(lines)
    for place, piece in junk:
        lines.insert(1 + place % len(lines), piece.replace(b"\n", b" ").replace(b"{", b"(") + b"\n")
    return b"".join(lines)


JUNK = st.lists(st.tuples(st.integers(0, 1_000), st.binary(min_size=1, max_size=30)), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(STEPS, JUNK, REACHES)
def test_junk_among_the_lines_changes_nothing(tmp_path_factory, steps, junk, reach):
    script = Script().run(steps)
    folder = script.write(tmp_path_factory.mktemp("junk"))
    (folder / "conversation.jsonl").write_bytes(damaged(script.lines, junk))
    with small(reach):
        assert load_session(folder).messages == script.way.spoken
        assert load_history(folder).messages == script.way.written


CUTS = st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 200), st.binary(max_size=6)), max_size=6)


@settings(max_examples=120, deadline=None)
@given(SCRIPTS, CUTS, REACHES, st.integers(0, 300))
def test_whatever_is_torn_out_a_session_loads_and_can_be_sent(tmp_path_factory, script, cuts, reach, tokens):
    folder = script.write(tmp_path_factory.mktemp("torn"))
    for file in folder.iterdir():
        data = bytearray(file.read_bytes())
        for place, size, piece in cuts:
            place %= len(data) + 1
            data[place : place + size] = piece
        file.write_bytes(data)
    with small(reach):
        loaded = [load_session(folder), load_session(folder, tokens=tokens), load_history(folder)]
    for session in loaded:
        assert is_sound(repair_messages(session.messages)[0])
        names = [message.id for message in session.messages]
        assert len(set(names)) == len(names)


def write(folder: Path, *lines: bytes) -> Path:
    (folder / "conversation.jsonl").write_bytes(b"".join(lines))
    return folder


def said(message: Message, parent: str | None) -> bytes:
    return encode_message(message, ts=5.0, parent=parent)


def chained(*messages: Message) -> list[bytes]:
    parents = [None, *(message.id for message in messages)]
    return [said(message, parent) for message, parent in zip(messages, parents, strict=False)]


def ids(session: LoadedSession) -> list[str]:
    return [message.id for message in session.messages]


def test_a_plain_file_without_ids_is_read_from_its_end_with_the_same_ids(tmp_path):
    roles = ["user", "assistant"] * 40
    lines = [
        msgspec.json.encode({"role": role, "content": f"{n} " * 30}) + b"\n" for n, role in enumerate(roles)
    ]
    write(tmp_path, *lines)
    whole = load_session(tmp_path)
    with small(1_000):
        end = load_session(tmp_path, tokens=100)
    assert 0 < len(end.messages) < 20
    assert end.messages == whole.messages[-len(end.messages) :]
    assert end.last_id == whole.last_id


def test_a_turn_that_is_too_long_is_cut_at_an_answer_not_behind_a_call(tmp_path):
    rounds = [
        message
        for n in range(30)
        for message in (assistant(f"a{n}", f"c{n}"), tool(f"t{n}", f"c{n}", "x" * 400))
    ]
    write(tmp_path, *chained(user("u"), *rounds))
    end = load_session(tmp_path, tokens=300)
    assert end.messages[0].role == "assistant"
    assert 300 <= sum(map(message_tokens, end.messages)) <= 800


def test_a_short_last_question_is_not_all_that_is_left_of_a_long_turn(tmp_path):
    rounds = [
        message
        for n in range(30)
        for message in (assistant(f"a{n}", f"c{n}"), tool(f"t{n}", f"c{n}", "x" * 400))
    ]
    write(tmp_path, *chained(user("u"), *rounds, user("thanks")))
    assert len(load_session(tmp_path, tokens=300).messages) > 2


def test_a_result_too_large_for_any_service_is_only_mentioned(tmp_path):
    huge = Message("t", "tool", (ToolResult("c", (Text("x" * 5_000),), True),), "tool")
    lines = chained(user("u1"), assistant("a1", "c"), huge, assistant("a2"), user("u2", "y" * 5_000))
    write(tmp_path, *lines)
    with mock.patch.object(loading, "TOO_LARGE", 4_000):
        session = load_session(tmp_path, tokens=100_000)
        assert load_session(tmp_path).messages[2] == huge
    assert ids(session) == ["u1", "a1", "t", "a2", "u2"]
    [result] = session.messages[2].tool_results
    assert (result.call_id, result.is_error) == ("c", True)
    assert "was left out" in result.content[0].text
    assert is_sound(session.messages)
    assert (session.skipped, len(session.damage)) == (0, 1)


def test_a_large_last_result_does_not_hide_what_was_asked_of_it(tmp_path):
    large = tool("t", "c", "x" * 40_000)
    write(tmp_path, *chained(user("u1"), assistant("a1", "c"), large, assistant("a2")))
    assert ids(load_session(tmp_path, tokens=300)) == ["a1", "t", "a2"]


def test_a_line_longer_than_what_is_looked_at_is_read(tmp_path):
    lines = chained(user("u1"), assistant("a1", text="y" * 9_000), user("u2", "z" * 5_000))
    write(tmp_path, *lines)
    with small(1_000):
        assert ids(load_session(tmp_path, tokens=10**6)) == ["u1", "a1", "u2"]
        assert ids(load_session(tmp_path, tokens=1)) == ["u2"]


def test_what_is_only_text_in_a_message_is_no_marker(tmp_path):
    text = '\n{"type":"compact","id":"x"}\n'
    odd = b'{"type":"compact","id":"torn\n'
    write(tmp_path, *chained(user("u1", text)), odd, said(assistant("a1"), "u1"))
    session = load_session(tmp_path)
    assert ids(session) == ["u1", "a1"]
    assert session.skipped == 1


def test_a_lost_parent_at_the_end_of_a_long_file_is_looked_for_and_given_up(tmp_path):
    before = [user(f"u{n}", "x" * 100) for n in range(30)]
    write(tmp_path, *chained(*before), said(assistant("a"), "lost"))
    with small(300):
        session = load_session(tmp_path, tokens=200)
    assert ids(session)[-2:] == ["u29", "a"]
    assert len(session.damage) == 1


@pytest.mark.parametrize("is_made", [True, False])
def test_a_title_far_from_the_end_is_found(tmp_path, is_made):
    first = encode_record(session_record("s", ts=1.0, cwd="/w", mode="plan", provider="p", model="m"))
    title = encode_record(title_record("named", ts=1.0, auto=is_made))
    spoken = chained(*(user(f"u{n}", "x" * 100) for n in range(30)))
    write(tmp_path, first, spoken[0], title, *spoken[1:])
    with small(500):
        session = load_session(tmp_path, tokens=50)
    assert (session.title, session.mode, session.cwd) == ("named", "plan", "/w")
    assert set(session.unknown) == {"mode", "model", "provider", "totals", "turns", "title"}
    assert load_session(tmp_path).unknown == ()


def test_a_file_that_becomes_shorter_while_it_is_read_is_no_error(tmp_path):
    write(tmp_path, *chained(user("u1"), assistant("a1"), user("u2")))
    path = tmp_path / "conversation.jsonl"
    with record_files.RecordFiles.open(tmp_path) as files:
        path.write_bytes(path.read_bytes()[:150])
        reading = loading.Reading(files, 0, skims=False)
        reading.run()
    assert [node.id for node in reading.nodes][:1] == ["u1"]
