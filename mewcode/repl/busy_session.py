"""A session that cannot be opened at once, and what the user says to that: one that another window has open
they read, continue as a copy, wait for, or leave; for one that came with a folder they trust that, or not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from mewcode.core.errors import SessionBusy, SessionForeign
from mewcode.infra.terminal_text import safe_line, visible_text
from mewcode.repl.panel import Option
from mewcode.repl.thread_call import call_in_thread

T = TypeVar("T")

# Seconds between two tries while the user waits for the other window to be closed.
_POLL = 0.25
_DAY = 86_400.0

_OPTIONS = (
    Option("view", "View it", "as far as it is written; nothing can be said"),
    Option("fork", "Continue in a fork", "a new session that begins with this conversation"),
    Option("wait", "Wait", "until the other window lets go of it"),
    Option("cancel", "Cancel"),
)
_TRUST = (
    Option("no", "No", "nothing of it is read"),
    Option("yes", "Yes, I trust this folder", "from now on, with all that it brings"),
)
_BRINGS_SHOWN = 8


class Asker(Protocol):
    """The user, as one who can also be shown a conversation and be kept waiting."""

    async def choose(self, title: str, options: tuple[Option, ...], selected: int = 0) -> str | None:
        """The value of the option taken, None for none."""
        ...

    async def read(self, folder: Path) -> None:
        """Shows the conversation of a session until the user has read it. Raises `SessionError`."""
        ...

    async def wait(self, words: str, open_: Callable[[], Awaitable[T]]) -> T | None:
        """See `Waiting.wait`; ``words`` are shown meanwhile."""
        ...


async def open_or_ask(
    open_: Callable[[bool], Awaitable[T]],
    asker: Asker,
    now: Callable[[], float] = time.time,
    *,
    trust: Callable[[Path], None] | None = None,
) -> T | None:
    """What ``open_`` returns; it is told whether to continue a copy. While another window holds the session
    (it raises `SessionBusy`, at once) the user says what to do; None where they leave it. Where it came with
    a folder that is not trusted (`SessionForeign`) they are asked whether to trust that; a no raises the
    error. ``trust`` remembers a yes, called in a thread; without it nobody is asked."""
    fork = False
    while True:
        try:
            return await open_(fork)
        except SessionForeign as error:
            root = error.root
            if trust is None or root is None or not await _is_trusted(error, asker):
                raise
            await call_in_thread("trust", partial(trust, root))
            trust = None
            continue
        except SessionBusy as error:
            busy = error
        holder = holder_words(busy, now())
        choice = await _choice(busy, holder, asker)
        fork = choice == "fork"
        if choice == "wait":
            found = await asker.wait(f"waiting for {holder}", lambda: open_(False))
            if found is not None:
                return found
        elif choice != "fork":
            return None


async def _is_trusted(error: SessionForeign, asker: Asker) -> bool:
    """Whether the user says so of the folder, of which all that it brings is named. Anything else is a no."""
    shown = visible_text(str(error.root)).replace("\n", "\\n")
    lines = [f"{safe_line(error.message, 200)}: the folder brought it", shown]
    if error.brings:
        lines.append("It also brings settings that can run commands or loosen permissions:")
        lines += [f"- {safe_line(phrase, 200)}" for phrase in error.brings[:_BRINGS_SHOWN]]
        if (more := len(error.brings) - _BRINGS_SHOWN) > 0:
            lines.append(f"- and {more} more")
    lines.append("Trust the folder and go on?")
    return await asker.choose("\n".join(lines), _TRUST) == "yes"


async def _choice(busy: SessionBusy, holder: str, asker: Asker) -> str | None:
    """What is to be done; who reads the session is asked again after."""
    options = _OPTIONS if busy.folder is not None else _OPTIONS[1:]
    title = f"open in another window ({holder})"
    if busy.folder is not None:
        title = f"session {busy.folder.name}\n{title}"
    while True:
        choice = await asker.choose(title, options)
        if choice != "view" or busy.folder is None:
            return choice
        await asker.read(busy.folder)


def holder_words(busy: SessionBusy, now: float) -> str:
    """``process 4242, since 10:32``; with the day where that is not today."""
    who = f"process {busy.pid}" if busy.pid else "another process"
    if not busy.since:
        return who
    then = time.localtime(busy.since)
    is_near = abs(now - busy.since) < _DAY and then.tm_mday == time.localtime(now).tm_mday
    return f"{who}, since {time.strftime('%H:%M' if is_near else '%Y-%m-%d %H:%M', then)}"


class Waiting:
    """The user waits for a session to be free; ``stop`` ends that. ``words`` are empty where they do not."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """``changed`` is called with each change of ``words``."""
        self.words = ""
        self._changed = changed
        self._stopped = asyncio.Event()

    async def wait(self, words: str, open_: Callable[[], Awaitable[T]]) -> T | None:
        """What ``open_`` returns once it no longer raises `SessionBusy`; None where it was stopped. A try
        that is under way is not broken off: it may have got the session."""
        self.words = words
        self._stopped.clear()
        self._changed()
        try:
            while True:
                try:
                    return await open_()
                except SessionBusy:
                    if await self._paused():
                        return None
        finally:
            self.words = ""
            self._changed()

    async def _paused(self) -> bool:
        """Whether the user has stopped it."""
        try:
            async with asyncio.timeout(_POLL):
                return await self._stopped.wait()
        except TimeoutError:
            return False

    def stop(self) -> bool:
        """Whether there was something to stop."""
        self._stopped.set()
        return bool(self.words)
