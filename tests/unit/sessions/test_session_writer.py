"""The writer: one record for each message, whatever the disk does."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_strategies import FailingCalls, assistant, tool, user

from mewcode.core.errors import SessionBusy, SessionError
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.lock import LOCK_FILE
from mewcode.sessions.reader import load_session
from mewcode.sessions.record import state_record


def create(folder, **options) -> SessionWriter:
    return SessionWriter.create(
        folder / "sessions", cwd="/w", provider="p", model="m0", mode="default", **options
    )


def records(writer: SessionWriter) -> list[dict]:
    text = (writer.folder / "conversation.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def loaded(writer: SessionWriter) -> list[str]:
    return [message.id for message in load_session(writer.folder).messages]


def test_a_session_without_a_message_leaves_nothing(tmp_path):
    writer = create(tmp_path)
    writer.append_record(state_record(ts=1, mode="plan"))
    assert writer.flush()
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_turn_of_n_messages_adds_n_records(tmp_path):
    writer = create(tmp_path, now=lambda: 1_700_000_000.0)
    for number in range(50):
        before = (writer.folder / "conversation.jsonl").stat().st_size if number else 0
        writer.append(user(f"u{number}"))
        assert (writer.folder / "conversation.jsonl").stat().st_size - before < 400
    writer.close()
    first, *rest = records(writer)
    assert (first["type"], first["id"], first["mode"], first["cwd"]) == (
        "session",
        writer.id,
        "default",
        "/w",
    )
    assert [record["id"] for record in rest] == [f"u{number}" for number in range(50)]
    assert [record["parent"] for record in rest] == [None, *(f"u{number}" for number in range(49))]
    assert {record["ts"] for record in rest} == {1_700_000_000.0}


def test_each_record_is_one_write(tmp_path):
    calls = FailingCalls()
    writer = create(tmp_path, calls=calls)
    writer.append(user("u1"))
    writer.append(assistant("a1", "c1", text="x" * 300_000))
    writer.close()
    assert len(calls.writes) == 3
    assert all(data.endswith(b"\n") and data.count(b"\n") == 1 for data in calls.writes)


def test_the_model_stands_on_the_first_message_and_where_it_changes(tmp_path):
    writer = create(tmp_path)
    for message in (user("u1"), assistant("a1"), tool("t1", "c"), assistant("a2"), user("u2")):
        writer.append(message)
    writer.close()
    assert [record.get("model") for record in records(writer)[1:]] == ["m0", "m1", None, None, None]
    assert [message.model for message in load_session(writer.folder).messages] == ["", "m1", "", "m1", ""]


def test_names_of_sessions(tmp_path):
    writer = create(tmp_path, now=lambda: 1_700_000_000.0)
    day, clock, tail = writer.id.split("-")
    assert (len(day), len(clock), len(tail)) == (8, 6, 4)


def test_a_folder_of_another_process_with_the_same_name_is_left_alone(tmp_path):
    writer = create(tmp_path)
    theirs = writer.folder
    theirs.mkdir(parents=True)
    writer.append(user("u1"))
    writer.close()
    assert writer.folder != theirs
    assert records(writer)[0]["id"] == writer.id
    assert list(theirs.iterdir()) == []


def test_files_and_folders_are_private(tmp_path):
    before = os.umask(0)
    try:
        writer = create(tmp_path / "a" / "b")
        writer.append(user("u1"))
    finally:
        os.umask(before)
    writer.close()
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "sessions", writer.folder):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in writer.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_continuing(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    writer.append_record(state_record(ts=1, mode="plan"))
    writer.close()
    again = SessionWriter.open(writer.folder)
    again.append(assistant("a1"))
    again.append(user("u2"))
    again.close()
    assert loaded(writer) == ["u1", "a1", "u2"]
    assert "parent" not in records(writer)[3]
    assert load_session(writer.folder).mode == "plan"
    forked = SessionWriter.open(writer.folder, parent="u1")
    forked.append(user("u3"))
    forked.close()
    assert loaded(writer) == ["u1", "u3"]


def test_a_closed_writer_opens_again_for_a_late_record(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    writer.close()
    writer.append(user("u2"))
    writer.close()
    writer.close()
    assert loaded(writer) == ["u1", "u2"]


def test_a_file_that_ends_in_half_a_line(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    writer.close()
    with (writer.folder / "conversation.jsonl").open("ab") as stream:
        stream.write(b'{"id":"half')
    again = SessionWriter.open(writer.folder)
    again.append(user("u2"))
    again.close()
    session = load_session(writer.folder)
    assert [message.id for message in session.messages] == ["u1", "u2"]
    assert (session.skipped, session.salvaged) == (1, 0)


def test_opening_what_is_not_there(tmp_path):
    with pytest.raises(SessionError, match="There is no session"):
        SessionWriter.open(tmp_path / "none")


# --- a disk that fails ---


@settings(max_examples=80, deadline=None)
@given(
    plan=st.lists(st.one_of(st.none(), st.integers(0, 250)), min_size=1, max_size=12),
    most=st.sampled_from([None, 1, 7, 100]),
)
def test_writes_that_fail_at_any_byte_lose_nothing(tmp_path_factory, plan, most):
    """``plan``: the room on the disk at each append, None for enough."""
    calls = FailingCalls()
    calls.most = most
    states = []
    writer = create(tmp_path_factory.mktemp("full"), calls=calls, on_state=states.append)
    for number, limit in enumerate(plan):
        calls.limit = limit
        writer.append(user(f"u{number}"))
        assert writer.failing in (None, "not being saved: No space left on device")
    calls.limit = None
    writer.close()
    assert writer.failing is None
    assert all(one != other for one, other in pairwise(states))
    assert states[-1:] in ([], [None])
    session = load_session(writer.folder)
    assert [message.id for message in session.messages] == [f"u{number}" for number in range(len(plan))]
    assert [message.text for message in session.messages] == [f"text of u{n}" for n in range(len(plan))]
    assert not any("repeated" in damage or "parent" in damage for damage in session.damage)


def test_an_interrupted_write_is_made_again(tmp_path):
    calls = FailingCalls()
    writer = create(tmp_path, calls=calls)
    calls.interrupts = 3
    writer.append(user("u1"))
    writer.close()
    assert loaded(writer) == ["u1"]


def test_a_read_only_disk_then_one_that_can_be_written(tmp_path):
    calls = FailingCalls()
    states = []
    writer = create(tmp_path, calls=calls, on_state=states.append)
    calls.fail_open = errno.EROFS
    for number in range(3):
        writer.append(user(f"u{number}"), sync=True)
    assert not writer.flush()
    calls.fail_open = 0
    writer.append(user("u3"))
    assert states == ["not being saved: Read-only file system", None]
    writer.close()
    assert loaded(writer) == ["u0", "u1", "u2", "u3"]
    assert calls.syncs == 1


def test_opening_a_session_on_a_read_only_disk_is_no_error(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    writer.close()
    calls = FailingCalls()
    calls.fail_open = errno.EROFS
    again = SessionWriter.open(writer.folder, calls=calls)
    assert again.failing == "not being saved: Read-only file system"
    again.append(user("u2"))
    calls.fail_open = 0
    again.close()
    assert again.failing is None
    assert loaded(writer) == ["u1", "u2"]


def test_a_disk_that_stays_full_is_given_up_at_the_end_without_an_error(tmp_path):
    calls = FailingCalls()
    calls.limit = 0
    writer = create(tmp_path, calls=calls)
    writer.append(user("u1"))
    writer.close()
    assert writer.failing == "not being saved: No space left on device"


def test_a_folder_deleted_while_running_is_made_again(tmp_path):
    prepared = []
    writer = create(tmp_path, prepare=lambda: prepared.append(1))
    writer.append(user("u1"))
    shutil.rmtree(tmp_path / "sessions")
    writer.append(user("u2"))
    writer.append(assistant("a2"))
    assert writer.failing is None
    writer.close()
    assert len(prepared) == 2
    assert [record.get("type") for record in records(writer)] == ["session", None, None]
    assert loaded(writer) == ["u2", "a2"]
    assert load_session(writer.folder).messages[1].model == "m1"


def test_a_folder_deleted_while_nothing_can_be_made(tmp_path):
    calls = FailingCalls()
    writer = create(tmp_path, calls=calls)
    writer.append(user("u1"))
    shutil.rmtree(writer.folder)
    calls.fail_open = errno.EACCES
    writer.append(user("u2"))
    assert writer.failing == "not being saved: Permission denied"
    calls.fail_open = 0
    writer.append(user("u3"))
    writer.close()
    assert loaded(writer) == ["u2", "u3"]


def test_a_file_replaced_while_running_is_continued(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    path = writer.folder / "conversation.jsonl"
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes()[:-1])
    copy.replace(path)
    writer.append(user("u2"))
    writer.close()
    assert loaded(writer) == ["u1", "u2"]


def test_a_symbolic_link_or_a_fifo_in_place_of_the_file(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    writer.close()
    path = writer.folder / "conversation.jsonl"
    path.rename(tmp_path / "elsewhere")
    for put in (lambda: path.symlink_to(tmp_path / "elsewhere"), lambda: os.mkfifo(path)):
        put()
        size = (tmp_path / "elsewhere").stat().st_size
        writer.append(user("u2"))
        assert writer.failing is not None
        assert (tmp_path / "elsewhere").stat().st_size == size
        writer.close()
        path.unlink()


# --- durability ---


def test_sync_happens_in_a_thread_that_ends(tmp_path):
    calls = FailingCalls()
    writer = create(tmp_path, calls=calls)
    writer.append(user("u1"), sync=True)
    assert writer.flush()
    assert calls.syncs == 1
    for number in range(20):
        writer.append(user(f"v{number}"), sync=True)
    writer.close()
    assert 2 <= calls.syncs <= 21


def test_a_sync_that_fails_is_said_and_one_that_cannot_be_is_not(tmp_path):
    calls = FailingCalls()
    writer = create(tmp_path, calls=calls)
    calls.fail_sync = errno.EIO
    writer.append(user("u1"), sync=True)
    assert not writer.flush()
    assert writer.failing == "not safely saved: Input/output error"
    calls.fail_sync = errno.EINVAL
    writer.append(user("u2"), sync=True)
    assert writer.flush()
    writer.close()


# --- one writer ---


def test_a_second_writer_is_told_who_holds_the_session(tmp_path):
    writer = create(tmp_path, now=lambda: 1_700_000_000.0)
    writer.append(user("u1"))
    with pytest.raises(SessionBusy) as busy:
        SessionWriter.open(writer.folder)
    assert (busy.value.pid, busy.value.since) == (os.getpid(), 1_700_000_000.0)
    assert f"process {os.getpid()}" in str(busy.value)
    assert "--fork-session" in busy.value.hint
    with pytest.raises(SessionBusy):
        SessionWriter.open(writer.folder, wait=0.06)
    writer.close()
    SessionWriter.open(writer.folder).close()


def test_waiting_gets_the_session_when_it_is_let_go(tmp_path, monkeypatch):
    writer = create(tmp_path)
    writer.append(user("u1"))
    # The holder lets go while the other waits for its next look.
    monkeypatch.setattr("mewcode.sessions.archive.time.sleep", lambda _seconds: writer.close())
    SessionWriter.open(writer.folder, wait=30).close()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"pid":"x","since":null,"host":7}', b"\xff", b"[" * 9999]
)
def test_a_lock_file_that_says_nothing(tmp_path, content):
    writer = create(tmp_path)
    writer.append(user("u1"))
    (writer.folder / LOCK_FILE).write_bytes(content)
    with pytest.raises(SessionBusy, match="another process") as busy:
        SessionWriter.open(writer.folder)
    assert (busy.value.pid, busy.value.since) == (0, 0.0)
    writer.close()


def test_a_lock_file_that_is_another_file_by_its_content_is_left_as_it_is(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    writer.close()
    lock, source = writer.folder / LOCK_FILE, tmp_path / "main.py"
    source.write_bytes(b"print(1)\n")
    for content in (source.read_bytes(), b'{"pid":1}' + b" " * 5000):
        source.write_bytes(content)
        lock.unlink()
        os.link(source, lock)
        SessionWriter.open(writer.folder).close()
        assert source.read_bytes() == content


def test_a_late_record_to_a_session_that_another_has_taken_waits(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    writer.close()
    other = SessionWriter.open(writer.folder)
    writer.append(user("u2"))
    assert writer.failing is not None
    assert "in use by process" in writer.failing
    other.append(user("v"))
    other.close()
    writer.close()
    assert writer.failing is None
    assert loaded(writer) == ["u1", "u2"]


def test_a_file_system_without_locks_is_written_without_one(tmp_path, monkeypatch):
    import fcntl

    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    writer = create(tmp_path)
    writer.append(user("u1"))
    assert writer.failing is None
    writer.close()
    assert loaded(writer) == ["u1"]
