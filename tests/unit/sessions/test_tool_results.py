"""Large results in files of their own."""

from __future__ import annotations

import errno
import os
import stat
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_strategies import ANY_TEXT, FailingCalls, user

from mewcode.core.codec import clean_text
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.reader import load_session


def create(folder, **options) -> SessionWriter:
    return SessionWriter.create(
        folder / "sessions", cwd="/w", provider="p", model="m", mode="default", **options
    )


def test_a_result_is_kept_whole_and_private(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u1"))
    before = os.umask(0)
    try:
        path = writer.keep_result("call1", "全部\n")
    finally:
        os.umask(before)
    assert path == writer.folder / "tool-results" / "call1"
    assert path.read_bytes() == "全部\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["call1"]
    writer.close()


def test_before_the_first_record_the_folder_is_made(tmp_path):
    prepared = []
    writer = create(tmp_path, prepare=lambda: prepared.append(1))
    path = writer.keep_result("c", "text")
    assert path is not None
    assert prepared == [1]
    writer.append(user("u1"))
    writer.close()
    assert path.parent.parent == writer.folder
    assert [message.id for message in load_session(writer.folder).messages] == ["u1"]


@settings(max_examples=60, deadline=None)
@given(call_id=st.one_of(ANY_TEXT, st.sampled_from(["", ".", "..", "../x", "/etc/passwd", "a" * 300, "CON"])))
def test_an_id_is_never_a_path(tmp_path_factory, call_id):
    writer = create(tmp_path_factory.mktemp("ids"))
    path = writer.keep_result(call_id, call_id)
    assert path is not None
    assert path.parent == writer.folder / "tool-results"
    assert path.read_bytes().decode() == clean_text(call_id)
    writer.close()


def test_what_is_there_is_never_changed(tmp_path):
    calls = FailingCalls()
    writer = create(tmp_path, calls=calls)
    first = writer.keep_result("c", "one")
    writes = len(calls.writes)
    assert writer.keep_result("c", "one") == first
    assert len(calls.writes) == writes
    second = writer.keep_result("c", "two")
    assert second not in (None, first)
    assert writer.keep_result("c", "two") == second
    assert (first.read_text(), second.read_text()) == ("one", "two")
    writer.close()


def test_links_that_came_with_the_folder_are_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    writer = create(tmp_path)
    writer.append(user("u1"))
    results = writer.folder / "tool-results"
    results.symlink_to(elsewhere)
    assert writer.keep_result("c", "text") is None
    assert list(elsewhere.iterdir()) == []
    results.unlink()
    results.mkdir()
    (results / "c").symlink_to(elsewhere / "target")
    path = writer.keep_result("c", "text")
    assert path != results / "c"
    assert path.read_text() == "text"
    assert list(elsewhere.iterdir()) == []
    os.mkfifo(results / "d")
    assert writer.keep_result("d", "").read_text() == ""
    writer.close()


@pytest.mark.parametrize("number", range(7))
def test_a_call_that_fails_leaves_no_half_file(tmp_path, number):
    calls = FailingCalls()
    calls.most = 100
    writer = create(tmp_path, calls=calls)
    (tmp_path / "sessions").mkdir()
    calls.fail_at = number
    assert writer.keep_result("c", "x" * 300) is None
    again = writer.keep_result("c", "x" * 300)
    assert again.read_text() == "x" * 300
    assert [each.name for each in again.parent.iterdir()] == ["c"]
    writer.close()


def test_a_full_disk_and_one_that_can_only_be_read(tmp_path):
    calls = FailingCalls()
    writer = create(tmp_path, calls=calls)
    calls.limit = 2
    assert writer.keep_result("c", "text") is None
    assert list((writer.folder / "tool-results").iterdir()) == []
    calls.limit = None
    calls.fail_open = errno.EROFS
    assert writer.keep_result("c", "text") is None
    calls.fail_open = 0
    calls.interrupts = 2
    assert writer.keep_result("c", "text") is not None
    writer.close()


def test_a_folder_deleted_while_running_is_made_again(tmp_path):
    import shutil

    writer = create(tmp_path)
    writer.append(user("u1"))
    shutil.rmtree(writer.folder)
    assert writer.keep_result("c", "text") is not None
    writer.append(user("u2"))
    writer.close()
    assert [message.id for message in load_session(writer.folder).messages] == ["u2"]


def test_what_a_kill_left_is_swept_once_it_is_old(tmp_path):
    writer = create(tmp_path)
    writer.append(user("u"))
    results = writer.folder / "tool-results"
    results.mkdir()
    (tmp_path / "target").write_bytes(b"")
    for name in (".call.abcdefgh.tmp", ".new.abcdefgh.tmp", "kept.tmp", ".kept"):
        (results / name).write_bytes(b"half")
        if name != ".new.abcdefgh.tmp":
            os.utime(results / name, (1.0, 1.0))
    (results / ".link.abcdefgh.tmp").symlink_to(tmp_path / "target")
    os.utime(tmp_path / "target", (1.0, 1.0))
    writer.keep_result("c", "text")
    left = [".kept", ".link.abcdefgh.tmp", ".new.abcdefgh.tmp", "c", "kept.tmp"]
    assert sorted(os.listdir(results)) == left
    writer.close()


def test_results_and_messages_at_once(tmp_path):
    writer = create(tmp_path)
    kept = []
    threads = [
        threading.Thread(
            target=lambda n=number: kept.append(writer.keep_result(f"c{n % 4}", f"text {n % 4}"))
        )
        for number in range(16)
    ]
    for thread in threads:
        thread.start()
    for number in range(50):
        writer.append(user(f"u{number}"))
    for thread in threads:
        thread.join()
    writer.close()
    assert None not in kept
    assert sorted(path.name for path in set(kept)) == ["c0", "c1", "c2", "c3"]
    assert len(load_session(writer.folder).messages) == 50
    assert len(list((tmp_path / "sessions").iterdir())) == 1


def test_a_result_is_durable_before_the_record_that_names_it(tmp_path):
    synced = []

    class Calls(FailingCalls):
        def sync(self, descriptor):
            synced.append(os.fstat(descriptor).st_ino)

    writer = create(tmp_path, calls=Calls())
    path = writer.keep_result("c", "text")
    writer.append(user("u1"), sync=True)
    writer.close()
    assert synced[:2] == [path.stat().st_ino, (writer.folder / "conversation.jsonl").stat().st_ino]
