"""Tasks that show what memory is worth: what was told in earlier sessions, what a later one asks, and what
its answer must and must not say."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import msgspec

from mewcode.core.errors import MewCodeError, UsageError
from mewcode.options import TaskKind

_OWN = Path(__file__).parents[2] / "evals" / "memory-tasks.json"
_MOST_READ = 20_000
"""Characters of an answer that are looked at: the longest wanted one has a few hundred."""
_PATTERN_SECONDS = 2.0


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``kind``: in ``silent`` ones memory must not speak up, in ``stale`` ones it is contradicted, in the
    others it is needed. ``told``: the turns of each earlier session; ``noise``: those of one more, of other
    things. ``ask``: the turn of the later session. Of its answer each of ``expect`` must match, and none of
    ``forbid``."""

    id: str
    kind: TaskKind
    lang: str
    told: tuple[tuple[str, ...], ...]
    noise: tuple[str, ...]
    ask: str
    expect: tuple[str, ...]
    forbid: tuple[str, ...]

    @property
    def earlier(self) -> tuple[tuple[str, ...], ...]:
        """The turns of all sessions before the later one."""
        return (*self.told, self.noise) if self.noise else self.told

    def missed(self, answer: str) -> tuple[str, ...]:
        """What is wrong with an answer: patterns that do not match, and ``not: `` those that do. Raises
        MewCodeError for a pattern that takes too long."""
        text = answer[:_MOST_READ]
        absent = tuple(pattern for pattern in self.expect if not _matches(pattern, text))
        return absent + tuple(f"not: {pattern}" for pattern in self.forbid if _matches(pattern, text))


class _Suite(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    tasks: tuple[Task, ...]


def own_tasks() -> Path:
    """The suite of the source tree. Raises UsageError where that is not at hand."""
    if not _OWN.is_file():
        raise UsageError(
            "`mewcode eval memory` needs a data set",
            "That of MewCode is evals/memory-tasks.json of its sources; name a file with --dataset FILE.",
        )
    return _OWN


def read_tasks(path: Path, only: TaskKind | None = None, limit: int | None = None) -> tuple[Task, ...]:
    """The tasks of a file: those of a kind, the first so many. Raises UsageError that says what is wrong."""
    try:
        tasks = msgspec.json.decode(path.read_bytes(), type=_Suite).tasks
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # msgspec's errors are such
        raise UsageError(f"{path} holds no tasks", str(error)) from error
    if problem := _problem(tasks):
        raise UsageError(f"{path}: {problem}")
    wanted = tuple(task for task in tasks if only in (None, task.kind))[:limit]
    if not wanted:
        raise UsageError(f"{path} has no such task")
    return wanted


def _problem(tasks: Sequence[Task]) -> str:
    known: set[str] = set()
    for task in tasks:
        if task.id in known:
            return f"there are two tasks {task.id}"
        known.add(task.id)
        turns = [task.ask, *(turn for session in task.earlier for turn in session)]
        if not all(map(str.strip, turns)) or not all(task.told):
            return f"{task.id} has an empty turn or session"
        if not task.expect:
            return f"{task.id} says nothing of what it expects"
        for pattern in (*task.expect, *task.forbid):
            try:
                with _time_limit(pattern):
                    re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                return f"{task.id}: {pattern!r} is no regular expression: {error}"
    return ""


class _TooLong(Exception):
    pass


def _matches(pattern: str, text: str) -> bool:
    with _time_limit(pattern):
        return re.search(pattern, text) is not None


@contextmanager
def _time_limit(pattern: str) -> Iterator[None]:
    """Python's regular expressions can run for ever on a bad pattern, but look for signals now and then.
    Where the system has no timer, Ctrl-C is left."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, _PATTERN_SECONDS)
    try:
        yield
    except _TooLong:
        raise MewCodeError(f"the pattern {pattern!r} takes too long") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _TooLong
