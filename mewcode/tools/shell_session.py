"""The shell of a session: the folder it stands in, what runs in the background, how a command is run.

Every command gets a shell of its own, so nothing that one command does to its shell can break the next. Only
the folder is carried over: at its end the shell reports where it stands.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from mewcode.core.codec import clean_text
from mewcode.core.errors import ToolError
from mewcode.infra.processes import ProcessGroup, start_group
from mewcode.tools.bounded_output import RecentOutput

# Keys to the model's service: no command needs them, and any could print them into the conversation.
SECRET_NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY")
# Nobody is there to answer a prompt, to leave a pager or to close an editor.
_UNATTENDED = {
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "MEWCODE": "1",
    "PAGER": "cat",
    "TERM": "dumb",
}
# With these a command would not do what it reads as, and it is judged as it reads.
_REINTERPRETING = frozenset({"BASH_ENV", "CDPATH", "ENV"})
# Seconds for output to arrive after its command has exited; what holds the pipe longer was left behind.
LINGER = 0.3
# Seconds between SIGTERM and SIGKILL.
GRACE = 2.0
# Seconds that `aclose` may take in all.
_CLOSE_LIMIT = 3.0
# Ended background processes that can still be looked at.
_ENDED_KEPT = 20


class Finished(msgspec.Struct, frozen=True):
    """How a command ended: ``returncode`` as in `subprocess`. ``left`` counts the processes that it left
    running and that were ended; ``stray`` says that one outside of its group still holds its output."""

    returncode: int
    timed_out: bool = False
    left: int = 0
    stray: bool = False


class BackgroundProcess:
    """A command that runs on while the conversation does.

    ``output`` keeps its last megabyte, ``started`` is a time of the session's clock, ``stopped`` says that
    we ended it, ``returncode`` is as in `subprocess`, None while it runs.
    """

    def __init__(self, name: str, command: str, started: float) -> None:
        self.name = name
        self.command = command
        self.started = started
        self.output = RecentOutput()
        self.stopped = False
        self.returncode: int | None = None
        self._group: ProcessGroup | None = None
        self._news = asyncio.Event()

    @property
    def running(self) -> bool:
        return self._group is not None

    @property
    def exited(self) -> bool:
        """The command is gone, though what it started may run on."""
        return self._group is None or self._group.exited

    def attach(self, group: ProcessGroup) -> None:
        self._group = group

    def take(self, data: bytes) -> None:
        self.output.feed(data)
        self._news.set()

    async def wait_news(self, seconds: float) -> None:
        """Returns when there is unread output, at the end of the process, or after ``seconds``."""
        if self.output.unread or not self.running:
            return
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    async def stop(self, grace: float) -> None:
        """Ends the process and all that it started."""
        if self._group is not None:
            self.stopped = True
            try:
                await self._group.end(grace)
            finally:
                self.settle()

    def signal(self, number: int) -> None:
        if self._group is not None:
            self._group.signal(number)

    async def wait_ended(self) -> None:
        if self._group is not None:
            await self._group.wait_ended()

    def settle(self) -> None:
        """Takes the exit code and lets go of the process, killing what is left of it."""
        if self._group is not None:
            group, self._group = self._group, None
            group.close()
            self.returncode = group.returncode
        self._news.set()


class ShellSession:
    """Runs commands for one session; ends with `aclose`.

    ``cwd`` is where the next command runs; it begins as, and falls back to, ``root``. ``environ`` is what
    commands inherit, without the variables named in ``secrets``. ``shell`` is the shell's path; by default
    bash, else sh, as found on the ``PATH`` of ``environ``. ``grace``: seconds between SIGTERM and SIGKILL;
    ``linger``: seconds that output may still come after its command has exited. ``timeout``: seconds for a
    command that names no limit, ``max_timeout`` the most that one may name.
    """

    def __init__(
        self,
        cwd: Path,
        environ: Mapping[str, str],
        shell: str | None = None,
        *,
        secrets: Iterable[str] = SECRET_NAMES,
        grace: float = GRACE,
        linger: float = LINGER,
        timeout: float = 120.0,
        max_timeout: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.root = cwd
        self.cwd = cwd
        self.environ = environ
        self.grace = grace
        self.timeout = timeout
        self.max_timeout = max_timeout
        self.linger = linger
        self.clock = clock
        self.background: dict[str, BackgroundProcess] = {}
        self._shell = shell
        self._secrets = frozenset(secrets)
        self._foreground: set[ProcessGroup] = set()
        self._count = 0

    def withhold(self, names: Iterable[str]) -> None:
        """Leaves these variables, too, out of what commands inherit from now on."""
        self._secrets |= frozenset(names)

    @property
    def shell(self) -> str:
        """The shell's path, looked up once."""
        if self._shell is None:
            self._shell = _find_shell(self.environ.get("PATH", os.defpath))
        return self._shell

    def standing(self) -> Path:
        """Where the next command will run: ``cwd``, or ``root`` where that folder is gone."""
        return self.cwd if self.cwd.is_dir() else self.root

    def settle_cwd(self) -> bool:
        """Whether the folder still exists; if not, the shell goes back to ``root``."""
        if self.cwd.is_dir():
            return True
        self.cwd = self.root
        return False

    async def run(self, command: str, timeout: float, on_output: Callable[[bytes], None]) -> Finished:
        """Runs a command to its end, at most ``timeout`` seconds, and keeps the folder it ended in.

        ``on_output`` gets stdout and stderr as they come. Nothing of the command's group runs on when this
        returns or raises. Raises `ToolError` where it cannot be started.
        """
        group = self._start(command, on_output)
        self._foreground.add(group)
        left, stray = 0, False
        try:
            timed_out = not await group.wait_exited(timeout)
            if not timed_out and not await group.wait_ended(self.linger):
                left = len(group.living())
                stray = not left and not group.drained
            if timed_out or left:
                await group.end(self.grace)
        except asyncio.CancelledError:
            await group.end(self.grace)
            raise
        finally:
            group.close()
            self._foreground.discard(group)
        self._keep_folder(group.report)
        return Finished(group.returncode or 0, timed_out, left, stray)

    def start_background(self, command: str) -> BackgroundProcess:
        """Starts a command that runs until it ends by itself, is stopped, or the session ends."""
        self._count += 1
        process = BackgroundProcess(f"bg{self._count}", command, self.clock())
        process.attach(self._start(command, process.take, process.settle))
        self._forget_old()
        self.background[process.name] = process
        return process

    async def aclose(self) -> None:
        """Ends every process of the session, in three seconds at most."""
        running = [process for process in self.background.values() if process.running]
        try:
            for number, share in ((signal.SIGTERM, 2 / 3), (signal.SIGKILL, 1 / 3)):
                for process in running:
                    process.signal(number)
                try:
                    async with asyncio.timeout(min(self.grace, _CLOSE_LIMIT * share)):
                        for process in running:
                            await process.wait_ended()
                except TimeoutError:
                    continue
                break
        finally:
            for process in running:
                process.stopped = True
                process.settle()
            for group in list(self._foreground):
                group.close()

    def _start(
        self,
        command: str,
        on_output: Callable[[bytes], None],
        on_end: Callable[[], None] | None = None,
    ) -> ProcessGroup:
        command = clean_text(command)
        if "\0" in command:
            raise ToolError("The command holds a NUL character, which no shell can take.")
        if not self.cwd.is_dir():
            raise ToolError(
                f"The folder {self.cwd} does not exist any more; there is nowhere to run a command."
            )
        left_out = self._secrets | _REINTERPRETING
        environ = {name: value for name, value in self.environ.items() if name not in left_out}
        # What the shell itself believes of the folder must not be an older one.
        environ |= _UNATTENDED | {"PWD": str(self.cwd)}

        def argv(lifeline: int) -> list[str]:
            return [self.shell, "-c", _script(command, lifeline)]

        try:
            return start_group(argv, cwd=self.cwd, environ=environ, on_output=on_output, on_end=on_end)
        except OSError as error:
            raise ToolError(_start_failure(error, command, self.cwd)) from error

    def _keep_folder(self, report: bytes) -> None:
        records = [record for record in report.split(b"\0") if record.startswith(b"/")]
        if records:
            folder = Path(os.fsdecode(records[-1].removesuffix(b"\n")))
            if folder.is_dir():
                self.cwd = folder

    def _forget_old(self) -> None:
        ended = [name for name, process in self.background.items() if not process.running]
        for name in ended[: max(0, len(ended) - _ENDED_KEPT)]:
            del self.background[name]


def _script(command: str, lifeline: int) -> str:
    """The command with its folder reported at the end, however it ends.

    ``eval`` of a quoted word keeps the two apart: no syntax error, open here-document, comment or ``exit``
    in the command reaches what follows. The trap reports where the command leaves the shell, the last part
    where it set a trap of its own; ``command`` passes by functions of these names. A plain sh knows no
    descriptor of two digits, hence ``/dev/fd``.
    """
    report = f"{{ command pwd -P && command printf '\\0'; }} 2>/dev/null >/dev/fd/{lifeline}"
    return (
        f"trap {_quoted(report)} EXIT; eval {_quoted(command)}; "
        f'{{ set -- "$?"; set +x; }} 2>/dev/null; {report}; exit "$1"'
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _find_shell(path: str) -> str:
    for name in ("bash", "sh"):
        for folder in path.split(os.pathsep):
            candidate = os.path.join(folder, name)
            if os.path.isabs(candidate) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
                return candidate
    return "/bin/sh"


def _start_failure(error: OSError, command: str, cwd: Path) -> str:
    import errno

    if error.errno == errno.E2BIG:
        return (
            f"The command is too long for the system ({len(command.encode()):,} bytes; 131,071 is the usual "
            "limit). Write the data to a file with write_file and let the command read it."
        )
    if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
        return f"The system has no room for another process ({error.strerror}). End some, then try again."
    return f"The command could not be started in {cwd}: {error.strerror or error}."
