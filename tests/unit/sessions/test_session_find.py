"""Sessions by age, by id, by the beginning of an id."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import SessionError
from mewcode.core.message import Message, Text
from mewcode.sessions.find import find_session, list_sessions, newest_session
from mewcode.sessions.labels import add_label
from mewcode.sessions.record import encode_message, encode_record, session_record, title_record

NAMES = ["20250101-100000-aaaa", "20250101-100000-aabb", "20250202-120000-cccc"]


@pytest.fixture
def sessions(tmp_path):
    for age, name in enumerate(NAMES):
        make(
            tmp_path,
            name,
            1000 - age,
            encode_message(Message("u", "user", (Text(f"prompt of {name}"),)), ts=1),
        )
    return tmp_path


def make(folder, name, updated, *lines) -> None:
    (folder / name).mkdir()
    path = folder / name / "conversation.jsonl"
    path.write_bytes(b"".join(lines))
    os.utime(path, (updated, updated))


def test_the_newest_is_the_one_written_last_not_the_one_named_last(sessions):
    assert newest_session(sessions) == sessions / NAMES[0]
    os.utime(sessions / NAMES[1] / "conversation.jsonl", (5000, 5000))
    assert newest_session(sessions) == sessions / NAMES[1]


def test_no_folder_no_sessions(tmp_path):
    assert newest_session(tmp_path / "none") is None
    assert list_sessions(tmp_path / "none") == []
    with pytest.raises(SessionError, match="has none yet"):
        find_session(tmp_path / "none", "x")


def test_what_is_no_session(sessions, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    make(elsewhere, "outside", 9000, b"x\n")
    (sessions / "linked").symlink_to(elsewhere / "outside")
    (sessions / "file").write_text("x")
    (sessions / "empty").mkdir()
    make(sessions, "nothing-in-it", 9000)
    (sessions / "fifo").mkdir()
    os.mkfifo(sessions / "fifo" / "conversation.jsonl")
    assert newest_session(sessions) == sessions / NAMES[0]
    assert [info.id for info in list_sessions(sessions)] == NAMES
    assert [info.id for info in list_sessions(sessions, 1)] == NAMES[:1]


def test_by_id_and_by_unique_beginning(sessions):
    assert find_session(sessions, NAMES[1]) == sessions / NAMES[1]
    assert find_session(sessions, "202502") == sessions / NAMES[2]
    assert find_session(sessions, "20250101-100000-aab") == sessions / NAMES[1]


def test_an_id_that_is_the_beginning_of_another_is_itself(sessions):
    make(sessions, "202502", 1, b"x\n")
    assert find_session(sessions, "202502") == sessions / "202502"


def test_errors_name_what_there_is(sessions):
    with pytest.raises(SessionError) as ambiguous:
        find_session(sessions, "20250101")
    assert NAMES[0] in str(ambiguous.value)
    assert NAMES[1] in str(ambiguous.value)
    assert NAMES[2] not in str(ambiguous.value)
    with pytest.raises(SessionError) as unknown:
        find_session(sessions, "20250202-120000-cccd")
    assert NAMES[2] in unknown.value.hint


@pytest.mark.parametrize(
    "wanted", ["", ".", "..", "../x", "/etc", "*", "a\x00b", "\x1b[31m", "~", "x" * 9999]
)
def test_an_id_is_never_a_path(sessions, wanted):
    with pytest.raises(SessionError) as error:
        find_session(sessions / "..", wanted) if wanted == "../x" else find_session(sessions, wanted)
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 500


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_whatever_is_wanted_the_answer_is_a_session_there(tmp_path_factory, wanted):
    folder = tmp_path_factory.getbasetemp() / "shared-sessions"
    if not folder.exists():
        folder.mkdir()
        make(folder, NAMES[0], 1, b"x\n")
    try:
        assert find_session(folder, wanted) == folder / NAMES[0]
    except SessionError:
        assert not wanted or not NAMES[0].startswith(wanted)


def test_the_list_shows_the_first_thing_the_user_said(sessions):
    start = encode_record(session_record("s", ts=1, cwd="/", mode="", provider="", model=""))
    reminder = encode_message(Message("r", "user", (Text("<system-reminder>"),), "reminder"), ts=1)
    prompt = encode_message(Message("u", "user", (Text("修复\x1b[31m  the\n\ntest"),)), ts=1)
    make(sessions, "newest", 9000, start, b"junk\n", reminder, prompt, b'{"half')
    info = list_sessions(sessions)[0]
    assert (info.id, info.updated, info.first_prompt) == ("newest", 9000.0, "修复 the test")
    assert info.path == sessions / "newest"
    assert info.size == (sessions / "newest" / "conversation.jsonl").stat().st_size


def test_a_file_with_no_prompt_in_its_first_megabyte(sessions):
    make(sessions, "newest", 9000, b"x" * 3_000_000)
    assert list_sessions(sessions)[0].first_prompt == ""


def test_by_the_name_that_the_user_gave(sessions):
    add_label(sessions / NAMES[0], title_record("old name", ts=1))
    add_label(sessions / NAMES[0], title_record("Parser  fix 修复", ts=2))
    assert find_session(sessions, "parser fix 修复") == sessions / NAMES[0]
    with pytest.raises(SessionError):
        find_session(sessions, "old name")
    add_label(sessions / NAMES[1], title_record("PARSER FIX 修复", ts=3))
    with pytest.raises(SessionError, match="2 sessions are named") as error:
        find_session(sessions, "parser fix 修复")
    assert NAMES[0] in str(error.value)
    add_label(sessions / NAMES[1], title_record("", ts=4))
    assert find_session(sessions, "Parser fix 修复") == sessions / NAMES[0]


def test_by_a_models_title_where_the_user_gave_none(sessions):
    add_label(sessions / NAMES[0], title_record("By a model", ts=2, auto=True))
    assert find_session(sessions, "by a  MODEL") == sessions / NAMES[0]
    add_label(sessions / NAMES[0], title_record("Mine", ts=3))
    add_label(sessions / NAMES[0], title_record("Another", ts=4, auto=True))
    assert find_session(sessions, "mine") == sessions / NAMES[0]
    with pytest.raises(SessionError):
        find_session(sessions, "another")
    add_label(sessions / NAMES[0], title_record("", ts=5))
    assert find_session(sessions, "another") == sessions / NAMES[0]


def test_a_name_that_is_only_spoken_of_is_none(sessions):
    add_label(sessions / NAMES[0], title_record("real", ts=1))
    said = encode_message(Message("v", "user", (Text('{"type":"title","title":"x"}'),)), ts=2)
    with (sessions / NAMES[0] / "conversation.jsonl").open("ab") as stream:
        stream.write(said + b'{"type":"title","title":"ha')
    assert find_session(sessions, "real") == sessions / NAMES[0]
    with pytest.raises(SessionError):
        find_session(sessions, "x")
