"""Processes that end whole: each is started in a session of its own, and ended with everything it started.

A command, what it prints and what it leaves behind end at different times. A `ProcessGroup` tells them apart:
the command *exits*; its output is *drained* when nobody holds the pipe any more; its lifeline, a second pipe
that every descendant inherits, is *released* when all of them are gone, even those that print elsewhere. When
all three have come to pass the group has *ended*.

What left the group (``setsid``, a daemon) cannot be ended portably; it is seen by the pipes that it holds.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

# One read takes at most what a pipe holds on Linux: a flood gets one turn of the event loop at a time.
_READ_SIZE = 65_536
# The lifeline gets a number that no shell script picks for itself (``exec 3>``, ``exec 200>`` are usual).
_LIFELINE_FLOOR = 100
# What is written to the lifeline is a folder's name: longest path is 4 KB on Linux.
_REPORT_LIMIT = 16_384
# How long a killed process may take to be reaped before it is left to the system (seconds).
_REAP_LIMIT = 1.0


class ProcessGroup:
    """A running command with all that it starts; made by `start_group`, for one event loop.

    ``report`` is what was written to the lifeline, ``returncode`` as in `subprocess`, None until `close`.
    `close` must be called in the end; `end` does it.
    """

    def __init__(self, popen: subprocess.Popen[bytes], output: int, lifeline: int) -> None:
        self.pid = popen.pid
        self.report = b""
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._ended = asyncio.Event()
        self._readers: dict[int, Callable[[int], None]] = {}
        self._closed = False
        self._output, self._lifeline = output, lifeline
        self._on_output: Callable[[bytes], None] = _ignore
        self._on_end: Callable[[], None] | None = None

    @property
    def exited(self) -> bool:
        """The command itself is gone; what it started may run on."""
        return self._exited.is_set()

    @property
    def ended(self) -> bool:
        """Command, output and descendants are gone."""
        return self._ended.is_set()

    @property
    def drained(self) -> bool:
        """Nobody holds the output's pipe any more."""
        return self._output not in self._readers

    @property
    def returncode(self) -> int | None:
        return self._popen.returncode

    async def wait_exited(self, seconds: float | None = None) -> bool:
        """Whether the command exits within ``seconds`` (None: however long it takes)."""
        return await _within(self._exited, seconds)

    async def wait_ended(self, seconds: float | None = None) -> bool:
        """Whether command, output and descendants are gone within ``seconds``."""
        return await _within(self._ended, seconds)

    def living(self) -> list[int]:
        """The processes of the group that run, zombies left out. A look at every process: milliseconds."""
        return _members(self.pid)

    def signal(self, number: int) -> None:
        """Sends a signal to every process of the group; one that is gone or not ours is let be."""
        if self._closed:
            return
        try:
            # The number cannot have gone to someone else: until `close` the command is at least a zombie
            # (but where a thread waits for it, which reaps: there the group may be empty, hence ESRCH).
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    async def end(self, grace: float = 2.0) -> None:
        """Asks the group to end (SIGTERM), kills what is left after ``grace`` seconds, reaps and closes.

        Cancelled meanwhile, it kills at once and raises CancelledError.
        """
        try:
            if not self.ended:
                self.signal(signal.SIGTERM)
                deadline = self._loop.time() + grace
                # A daemon that left the group may hold the pipes for ever: no use to wait for that one.
                if await self.wait_exited(grace) and self.living():
                    await self.wait_ended(max(0.0, deadline - self._loop.time()))
            self.signal(signal.SIGKILL)
            await self.wait_exited(_REAP_LIMIT)
        finally:
            self.close()

    def close(self) -> None:
        """Kills what is left of the group, reaps the command, closes the pipes. May be called twice.

        Blocks only for the time the system takes to end a killed process, at most a second.
        """
        if self._closed:
            return
        self.signal(signal.SIGKILL)
        self._closed = True
        for descriptor in (self._output, self._lifeline):
            if descriptor in self._readers:
                self._read_rest(descriptor)
        for descriptor in list(self._readers):
            self._drop(descriptor)
        import subprocess

        try:
            self._popen.wait(timeout=_REAP_LIMIT)
        except subprocess.TimeoutExpired:
            # Stuck in the kernel (a dead network disk): nothing can end it, and waiting would hang us too.
            self._popen.returncode = -signal.SIGKILL
        self._exited.set()
        self._ended.set()

    # The readers: one for the output, one for the lifeline, one for the exit.

    def watch(self, on_output: Callable[[bytes], None], on_end: Callable[[], None] | None) -> None:
        """Begins to deliver; `start_group` calls it."""
        self._on_output, self._on_end = on_output, on_end
        self._add(self._output, self._read_output)
        self._add(self._lifeline, self._read_lifeline)
        pidfd = _open_pidfd(self.pid)
        if pidfd is None:
            _wait_in_thread(self._popen, self._loop, self._command_exited)
        else:
            self._add(pidfd, self._exit_seen)

    def _add(self, descriptor: int, reader: Callable[[int], None]) -> None:
        self._readers[descriptor] = reader
        self._loop.add_reader(descriptor, reader, descriptor)

    def _drop(self, descriptor: int) -> None:
        del self._readers[descriptor]
        self._loop.remove_reader(descriptor)
        os.close(descriptor)

    def _read_output(self, descriptor: int) -> None:
        self._read(descriptor, self._on_output)

    def _read_lifeline(self, descriptor: int) -> None:
        self._read(descriptor, self._add_report)

    def _read(self, descriptor: int, take: Callable[[bytes], None]) -> bool:
        """Reads once; whether there was something. At the end of the pipe it is closed."""
        try:
            data = os.read(descriptor, _READ_SIZE)
        except BlockingIOError:
            return False
        if data:
            take(data)
            return True
        self._drop(descriptor)
        self._settle()
        return False

    def _read_rest(self, descriptor: int) -> None:
        """What still stands in a pipe, at most a megabyte: whoever holds it may write for ever."""
        take = self._on_output if descriptor == self._output else self._add_report
        for _ in range(16):
            if not self._read(descriptor, take):
                return

    def _add_report(self, data: bytes) -> None:
        self.report = (self.report + data)[-_REPORT_LIMIT:]

    def _exit_seen(self, descriptor: int) -> None:
        self._drop(descriptor)
        self._command_exited()

    def _command_exited(self) -> None:
        self._exited.set()
        self._settle()

    def _settle(self) -> None:
        if self._exited.is_set() and not self._readers and not self._ended.is_set():
            self._ended.set()
            if self._on_end is not None and not self._closed:
                self._on_end()


def start_group(
    argv_for: Callable[[int], Sequence[str]],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    on_output: Callable[[bytes], None],
    on_end: Callable[[], None] | None = None,
) -> ProcessGroup:
    """Starts a command with no input, its stdout and stderr in one pipe; raises OSError or ValueError.

    ``argv_for`` is given the number of the lifeline descriptor, which the command may write to.
    ``on_output`` gets the bytes as they come, ``on_end`` is called once when the group has ended by itself.
    """
    import fcntl  # not at the top: there is none on Windows, where this module shall still be imported
    import subprocess

    output, output_end = os.pipe()
    opened = [output, output_end]
    try:
        lifeline, low_end = os.pipe()
        opened += [lifeline, low_end]
        lifeline_end = fcntl.fcntl(low_end, fcntl.F_DUPFD_CLOEXEC, _LIFELINE_FLOOR)
        opened.append(lifeline_end)
        os.set_blocking(output, False)
        os.set_blocking(lifeline, False)
        popen = subprocess.Popen(
            argv_for(lifeline_end),
            stdin=subprocess.DEVNULL,
            stdout=output_end,
            stderr=output_end,
            cwd=cwd,
            env=dict(environ),
            pass_fds=(lifeline_end,),
            start_new_session=True,
        )
    except BaseException:
        for descriptor in opened:
            os.close(descriptor)
        raise
    for descriptor in (output_end, low_end, lifeline_end):
        os.close(descriptor)
    group = ProcessGroup(popen, output, lifeline)
    group.watch(on_output, on_end)
    return group


async def _within(event: asyncio.Event, seconds: float | None) -> bool:
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


def _open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable at the exit (Linux 5.3); None where there is no such thing."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        descriptor: int = opener(pid)
    except OSError:
        return None
    return descriptor


def _wait_in_thread(
    popen: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, exited: Callable[[], None]
) -> None:
    """Where the system gives no descriptor for an exit (macOS): a thread waits."""
    import threading

    def wait() -> None:
        popen.wait()
        try:
            loop.call_soon_threadsafe(exited)
        except RuntimeError:  # the loop is closed: nobody is left to be told
            return

    threading.Thread(target=wait, name=f"wait for {popen.pid}", daemon=True).start()


def _members(group: int) -> list[int]:
    """Ids of the running processes of a group: from /proc, else only the group's own id where it lives."""
    try:
        entries = os.listdir("/proc")
    except OSError:
        entries = []
    if "self" not in entries:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):  # macOS: EPERM where only a zombie is left
            return []
        return [group]
    return [pid for pid in map(int, filter(str.isdecimal, entries)) if _runs_in(pid, group)]


def _runs_in(pid: int, group: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            stat = stream.read()
    except OSError:  # it ended meanwhile
        return False
    # "pid (name) state ppid pgrp ...": the name may hold blanks and brackets.
    state, _, member_of = stat.rpartition(b")")[2].split()[:3]
    return int(member_of) == group and state not in (b"Z", b"X")


def _ignore(_data: bytes) -> None:
    """Output before anyone watches; there is none."""
