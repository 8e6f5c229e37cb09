"""Checkpoints as a session takes them: before its tools write, and around the commands that it runs.

A command is watched by two looks at the work tree (`sessions.work_tree`). The first is taken before the first
command of a turn, each further one beside the next request to the model, and serves as the first look for the
command that follows: so in most turns no command waits for more than one look, of milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import asynccontextmanager
from pathlib import Path

from mewcode.core.access import Access, CommandAccess
from mewcode.sessions.checkpoints import Checkpoints
from mewcode.sessions.work_tree import LIMIT, Look, TooSlow, differences, look, refresh

_LOG = logging.getLogger("mewcode.checkpoints")

_MOST_NAMED = 500
"""Files changed by one command that are known one by one: what changes more is a build or an installation."""
_UNWATCHED = (
    "Commands were not watched from some point on, because the files could not be looked at in time: what "
    "they changed is not known."
)
# Commands that so plainly only read that they need not be parsed to know it: most rounds of a turn are these.
_PLAIN = re.compile(r"(?:cat|date|echo|false|head|ls|pwd|tail|true|wc|which)(?: [\w./:=,@+%-]+)*")


class SessionCheckpoints:
    """`Checkpoints` and what feeds them. ``kept`` are the checkpoints themselves.

    ``only_reads`` is the policy's word on a call: such a command is not watched. ``with_git``: git may be run
    in ``root`` without being asked for.
    """

    def __init__(
        self,
        kept: Checkpoints,
        root: Path,
        *,
        with_git: bool,
        only_reads: Callable[[Sequence[Access]], bool],
        limit: float = LIMIT,
    ) -> None:
        self.kept = kept
        self.root = root
        self._with_git = with_git
        self._only_reads = only_reads
        self._limit = limit
        self._thread = ThreadPoolExecutor(1, "checkpoints")
        self._first: tuple[str, Look] | None = None  # the look before the next command, and its turn
        self._after: Future[None] | None = None
        self._given_up = False

    @property
    def git_root(self) -> Path | None:
        """The work tree where git may be run in it."""
        return self.root if self._with_git else None

    def before_write(self, path: Path) -> None:
        """See `Checkpoints.before_write`; called in a tool's thread."""
        self.settle()
        self.kept.before_write(path)

    def after_write(self, path: Path) -> None:
        """See `Checkpoints.after_write`; the change is not taken for a command's."""
        self.kept.after_write(path)
        if self._first is not None:
            refresh(self._first[1], str(path), self.kept.keep)

    @asynccontextmanager
    async def watched(self, accesses: Sequence[Access]) -> AsyncIterator[None]:
        """While a call runs: what its commands change is known afterwards. Never raises of its own accord."""
        if self._given_up or not _runs_command(accesses) or self._is_harmless(accesses):
            yield
            return
        turn = self.kept.turn
        if self._after is not None:
            await asyncio.shield(asyncio.wrap_future(self._after))
        if self._first is None or self._first[0] != turn:
            await asyncio.shield(asyncio.wrap_future(self._thread.submit(self._take_first, turn)))
        try:
            yield
        finally:
            self._after = self._thread.submit(self._take_next, turn)

    def settle(self) -> None:
        """Waits until what the last command changed is known; blocks for a second at most or two."""
        if self._after is not None:
            wait([self._after])

    def forget_look(self) -> None:
        """To be called when files were changed that no command is to be blamed for."""
        self.settle()
        self._first = None

    def close(self, *, wait: bool = True) -> None:
        """Ends the thread once it has done what it was given; with ``wait`` blocks until then, as `settle`
        does."""
        self._thread.shutdown(wait=wait)

    def _is_harmless(self, accesses: Sequence[Access]) -> bool:
        commands = [access.command for access in accesses if isinstance(access, CommandAccess)]
        return all(map(_PLAIN.fullmatch, commands)) or self._only_reads(accesses)

    # --- in the thread ------------------------------------------------------------------------------------

    def _take_first(self, turn: str) -> None:
        seen = self._look(turn, None)
        self._first = None if seen is None else (turn, seen)

    def _take_next(self, turn: str) -> None:
        before, self._first = self._first, None
        if before is None:
            return
        after = self._look(turn, before[1])
        if after is not None:
            self._first = turn, after

    def _look(self, turn: str, before: Look | None) -> Look | None:
        """The next look, with what was changed since the one ``before`` it; None where there is none."""
        try:
            also = before.signatures if before else ()
            seen = look(
                self.root,
                self.kept.paths,
                self.kept.keep,
                with_git=self._with_git,
                limit=self._limit,
                also=also,
            )
            if before is not None:
                self._log(turn, before, seen)
        except TooSlow:
            self._given_up = True
            self.kept.log_note(turn, _UNWATCHED)
            _LOG.info("the work tree is too large or too slow to be watched")
            return None
        except Exception:  # noqa: BLE001 - no command may fail because it could not be watched
            self._given_up = True
            self.kept.log_note(turn, _UNWATCHED)
            _LOG.exception("the work tree cannot be watched")
            return None
        return seen

    def _log(self, turn: str, before: Look, after: Look) -> None:
        if before.head != after.head and before.head and after.head:
            moved = f"from commit {before.head[:8]} to {after.head[:8]}"
            self.kept.log_note(
                turn, f"A command moved git {moved}; that is not taken back (git reflog has it)."
            )
        count = 0
        for change in differences(before, after):
            count += 1
            if count <= _MOST_NAMED:
                self.kept.log_command(turn, change.path, change.before, change.after)
        if count > _MOST_NAMED:
            self.kept.log_note(
                turn, f"A command changed {count:,} files; only {_MOST_NAMED} of them can be restored."
            )


def _runs_command(accesses: Sequence[Access]) -> bool:
    return any(isinstance(access, CommandAccess) for access in accesses)
