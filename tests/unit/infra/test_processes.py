import asyncio
import os
import select
import signal
from pathlib import Path
from typing import ClassVar

import pytest

from mewcode.infra import processes
from mewcode.infra.processes import start_group

LIMIT = 20  # seconds; no test comes near it


def open_descriptors():
    return len(os.listdir("/dev/fd"))


def run(scenario):
    """Runs a scenario within the limit and sees that it leaves no descriptor open."""

    async def limited():
        before = open_descriptors()
        try:
            async with asyncio.timeout(LIMIT):
                await scenario()
            assert open_descriptors() == before
        finally:
            while Started.groups:
                Started.groups.pop().close()

    asyncio.run(limited())


class Started:
    """A group running a script, and what it printed."""

    groups: ClassVar[
        list[processes.ProcessGroup]
    ] = []  # all of them, so that a test that fails leaves none running

    def __init__(self, script, cwd="/", on_end=None):
        self.printed = bytearray()
        self.heard = asyncio.Event()
        self.group = start_group(
            lambda lifeline: ["/bin/sh", "-c", script.replace("LIFELINE", str(lifeline))],
            cwd=Path(cwd),
            environ={"PATH": os.environ["PATH"]},
            on_output=self.take,
            on_end=on_end,
        )
        self.groups.append(self.group)

    def take(self, data):
        self.printed += data
        self.heard.set()

    async def hear(self):
        await self.heard.wait()


@pytest.fixture
def witness(tmp_path):
    """A named pipe: whoever opens it for writing is seen to be gone by its end."""
    path = tmp_path / "witness"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    yield path, descriptor
    os.close(descriptor)


def all_gone(descriptor):
    poll = select.poll()
    poll.register(descriptor, select.POLLHUP)
    return bool(poll.poll(LIMIT * 1000))


def test_output_report_and_exit_code():
    async def scenario():
        started = Started("echo out; echo err >&2; echo more; pwd >/dev/fd/LIFELINE; exit 7", cwd="/usr")
        assert await started.group.wait_exited()
        assert await started.group.wait_ended()
        assert started.group.drained
        started.group.close()
        started.group.close()
        assert bytes(started.printed) == b"out\nerr\nmore\n"
        assert started.group.report == b"/usr\n"
        assert started.group.returncode == 7

    run(scenario)


def test_there_is_no_input():
    async def scenario():
        started = Started("cat; read line || echo end of file")
        assert await started.group.wait_ended()
        started.group.close()
        assert bytes(started.printed) == b"end of file\n"

    run(scenario)


def test_waiting_has_a_limit():
    async def scenario():
        started = Started("sleep 1000")
        assert not await started.group.wait_exited(0)
        assert not await started.group.wait_ended(0.01)
        assert not started.group.exited
        await started.group.end(5)
        assert started.group.returncode == -signal.SIGTERM

    run(scenario)


@pytest.mark.parametrize("grace", [0, 0.2])
def test_what_ignores_sigterm_is_killed_with_its_children(witness, grace):
    path, descriptor = witness

    async def scenario():
        script = f"exec 7>{path}; trap '' TERM; (sleep 1000; sleep 1000) & echo up; sleep 1000; sleep 1000"
        started = Started(script)
        await started.hear()
        await started.group.end(grace)
        assert started.group.returncode == -signal.SIGKILL
        assert all_gone(descriptor)

    run(scenario)


def test_a_child_that_ignores_sigterm_is_killed_though_its_shell_obeys(witness):
    path, descriptor = witness

    async def scenario():
        script = f"exec 7>{path}; (trap '' TERM; echo up; while :; do sleep 1000; done) >&7 & echo up; wait"
        started = Started(script)
        await started.hear()
        assert select.select([descriptor], [], [], LIMIT)[0]
        assert os.read(descriptor, 10) == b"up\n"
        await started.group.end(0.2)
        assert started.group.returncode == -signal.SIGTERM
        assert all_gone(descriptor)

    run(scenario)


def test_a_child_left_behind_is_seen_and_ended(witness):
    path, descriptor = witness

    async def scenario():
        started = Started(f"exec 7>{path}; sleep 1000 >/dev/null 2>&1 & exit 3")
        assert await started.group.wait_exited()
        assert not await started.group.wait_ended(0.05)
        assert len(started.group.living()) == 1
        await started.group.end(5)
        assert started.group.returncode == 3
        assert all_gone(descriptor)

    run(scenario)


def test_an_end_that_is_cancelled_kills_at_once(witness):
    path, descriptor = witness

    async def scenario():
        started = Started(f"exec 7>{path}; trap '' TERM; echo up; while :; do sleep 1000; done")
        await started.hear()
        ending = asyncio.ensure_future(started.group.end(1_000))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        assert started.group.returncode == -signal.SIGKILL
        assert all_gone(descriptor)

    run(scenario)


def test_the_end_is_told_once():
    async def scenario():
        ended = asyncio.Event()
        calls = []
        started = Started("echo x", on_end=lambda: (calls.append(1), ended.set()))
        await ended.wait()
        started.group.close()
        assert calls == [1]
        assert started.group.returncode == 0

    run(scenario)


def test_a_flood_leaves_the_loop_free():
    async def scenario():
        seen = 0
        turns = 0

        def take(data):
            nonlocal seen
            seen += len(data)
            assert len(data) <= 65_536

        group = start_group(
            lambda _: ["/bin/sh", "-c", "yes"], cwd=Path("/"), environ=os.environ, on_output=take
        )
        while seen < 30_000_000:
            turns += 1
            await asyncio.sleep(0)
        await group.end(5)
        # Each turn of the loop takes one read at most, so others get their turn between two reads.
        assert turns >= 30_000_000 // 65_536

    run(scenario)


def test_what_cannot_start_leaves_nothing():
    async def scenario():
        with pytest.raises(FileNotFoundError):
            start_group(lambda _: ["/no/such/shell"], cwd=Path("/"), environ={}, on_output=print)
        with pytest.raises(FileNotFoundError):
            start_group(lambda _: ["/bin/sh"], cwd=Path("/no/such"), environ={}, on_output=print)
        with pytest.raises(ValueError, match="null"):
            start_group(lambda _: ["/bin/sh", "a\0b"], cwd=Path("/"), environ={}, on_output=print)

    run(scenario)


@pytest.mark.parametrize("refuse", [None, OSError])
def test_without_a_descriptor_for_the_exit_a_thread_waits(monkeypatch, refuse):
    def opener(_pid):
        raise OSError("not on this system")

    if refuse:
        monkeypatch.setattr(os, "pidfd_open", opener, raising=False)
    else:
        monkeypatch.delattr(os, "pidfd_open", raising=False)

    async def scenario():
        started = Started("echo x; exit 4")
        assert await started.group.wait_ended()
        started.group.close()
        assert (bytes(started.printed), started.group.returncode) == (b"x\n", 4)
        started = Started("trap '' TERM; echo up; while :; do sleep 1000; done")
        await started.hear()
        await started.group.end(0.05)
        assert started.group.returncode == -signal.SIGKILL

    run(scenario)


def test_without_proc_the_group_itself_is_asked(monkeypatch):
    async def scenario():
        started = Started("echo up; sleep 1000")
        await started.hear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "listdir", lambda _path: [])
            assert started.group.living() == [started.group.pid]
        await started.group.end(5)
        assert processes._members(2**22 + 1) == []

    run(scenario)


def test_an_endless_writer_outside_the_group_does_not_hold_us():
    async def scenario():
        started = Started("setsid yes & exit 0")
        assert await started.group.wait_exited()
        await started.hear()
        await started.group.end(5)  # the writer gets SIGPIPE when the pipe is closed
        assert started.group.returncode == 0

    run(scenario)
