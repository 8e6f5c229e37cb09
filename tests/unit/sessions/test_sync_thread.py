"""Group sync: what was written is durable soon, with what came meanwhile."""

from __future__ import annotations

import errno
import os
import threading

import pytest
from session_strategies import FailingCalls, assistant, user

from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.sync_thread import DELAY, GROUP, SyncThread

LIMIT = 30
"""Seconds after which a test that waits has failed."""
NEVER = 3_600.0


class HeldCalls(FailingCalls):
    """Syncs that wait until they are let go, and say when they have begun."""

    def __init__(self, *, held: bool = True) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.free = threading.Event()
        if not held:
            self.free.set()

    def sync(self, descriptor):
        self.begun.release()
        assert self.free.wait(LIMIT)
        super().sync(descriptor)


@pytest.fixture
def file(tmp_path):
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


def test_the_promise_in_figures():
    assert (DELAY, GROUP) == (0.2, 64)


def test_a_record_alone_is_synced_after_the_delay(file):
    calls = HeldCalls(held=False)
    SyncThread(calls, 0.01).written(file)
    assert calls.begun.acquire(timeout=LIMIT)


def test_so_many_records_wait_for_nothing(file):
    calls = HeldCalls(held=False)
    thread = SyncThread(calls, NEVER)
    for _ in range(GROUP - 1):
        thread.written(file)
    assert not calls.begun.acquire(blocking=False)
    thread.written(file)
    assert calls.begun.acquire(timeout=LIMIT)
    thread.wait()
    assert calls.syncs == 1


def test_what_is_wanted_now_takes_along_what_waits(file):
    calls = HeldCalls(held=False)
    thread = SyncThread(calls, NEVER)
    thread.written(file, 5)
    thread.written(file, now=True)
    assert calls.begun.acquire(timeout=LIMIT)
    thread.wait()
    assert calls.syncs == 1


def test_the_end_does_not_wait_for_the_delay(file):
    calls = HeldCalls(held=False)
    thread = SyncThread(calls, NEVER)
    thread.written(file)
    thread.wait()
    assert calls.syncs == 1
    thread.wait()  # nothing is left to do, and the next record is in no hurry for that
    thread.written(file)
    assert calls.syncs == 1
    thread.wait()
    assert calls.syncs == 2


def test_records_written_during_a_sync_get_one_of_their_own(file):
    calls = HeldCalls()
    thread = SyncThread(calls, NEVER)
    thread.written(file, now=True)
    assert calls.begun.acquire(timeout=LIMIT)
    thread.written(file)
    calls.free.set()
    thread.wait()
    assert calls.syncs == 2


def test_a_file_closed_meanwhile_is_synced_all_the_same(tmp_path):
    calls = HeldCalls()
    thread = SyncThread(calls, NEVER)
    for name in ("one", "two"):
        descriptor = os.open(tmp_path / name, os.O_RDWR | os.O_CREAT)
        thread.written(descriptor, folders=(tmp_path,))
        os.close(descriptor)
    calls.free.set()
    thread.wait()
    assert calls.syncs == 2
    assert thread.error is None


def test_one_thread_a_burst_which_ends_by_itself_and_keeps_no_process_alive(file):
    thread = SyncThread(HeldCalls(held=False), NEVER)
    before = set(threading.enumerate())
    for _ in range(10):
        thread.written(file)
    (made,) = set(threading.enumerate()) - before
    assert not made.daemon
    thread.wait()
    assert not made.is_alive()


def test_without_a_thread_it_is_done_at_once(file, monkeypatch):
    def no_more(self):
        raise RuntimeError("can't start new thread")

    calls = HeldCalls(held=False)
    thread = SyncThread(calls, NEVER)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more)
        thread.written(file)
        assert calls.syncs == 1
    thread.written(file)
    thread.wait()
    assert calls.syncs == 2


def test_an_error_is_kept_until_a_sync_succeeds(file, tmp_path):
    calls = FailingCalls()
    thread = SyncThread(calls, NEVER)
    calls.fail_sync = errno.EIO
    thread.written(file, now=True)
    thread.wait()
    assert thread.error is not None
    calls.fail_sync = 0
    thread.written(file, folders=(tmp_path / "gone",))
    thread.wait()
    assert thread.error is None


def test_a_writer_says_at_once_only_what_it_is_asked_to(tmp_path):
    calls = HeldCalls()
    writer = SessionWriter.create(tmp_path, cwd="/", provider="p", model="m", mode="default", calls=calls)
    writer.append(user("u1"), sync=True)
    assert calls.begun.acquire(timeout=LIMIT)
    # a sync under way holds nothing up
    writer.append(assistant("a1", "c1"))
    writer.append(user("u2"), sync=True)
    writer.append(assistant("a2"))
    calls.free.set()
    assert writer.flush()
    assert calls.syncs <= 3
    writer.close()


def test_each_record_is_durable_soon_though_nobody_asks(tmp_path):
    calls = HeldCalls(held=False)
    writer = SessionWriter.create(tmp_path, cwd="/", provider="p", model="m", mode="default", calls=calls)
    writer.append(assistant("a1", "c1"))
    assert calls.begun.acquire(timeout=LIMIT)
    writer.close()
