"""What a start has made of many files of instructions, kept for the next, which then only looks whether all
are as they were.

Kept where the system keeps caches, never in a folder whose instructions are read. What is damaged, of another
version, or not the user's own counts as nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mewcode._version import __version__
from mewcode.infra.kept_file import KeptFile
from mewcode.infra.paths import Places
from mewcode.instructions.boundary import Approvals, boundary_of
from mewcode.instructions.discover import Candidate
from mewcode.instructions.limits import DEPTH, FILE_BYTES, MOST_INCLUDES, TOTAL_BYTES
from mewcode.instructions.told import Told
from mewcode.instructions.trace import Trace

_VERSION = 1
_WORTH = 20
"""Paths looked at from which on keeping pays: fewer are read in a millisecond."""
_MOST_BYTES = 2_000_000
"""Of a file: some five times what a thousand instructions take."""

_LOG = logging.getLogger("mewcode.instructions")


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """``key``: all that a reading depends on besides the disk."""

    key: tuple[str, ...]
    told: Told
    trace: Trace


class InstructionCache:
    """Of one workspace. ``folder``: where MewCode's caches are. ``home`` and ``include_roots`` as of a
    `Loader`, ``make_approvals`` for its approvals. May be used from any thread."""

    def __init__(
        self,
        places: Places,
        folder: Path,
        *,
        home: Path,
        include_roots: Sequence[Path] = (),
        make_approvals: Callable[[], Approvals] | None = None,
    ) -> None:
        self._places = places
        where = "\0".join(map(str, (places.root, places.cwd)))
        self._file = KeptFile(folder / "instructions", where, places.root, _MOST_BYTES)
        self._home = home
        self._include_roots = tuple(include_roots)
        self._make_approvals = make_approvals

    def find(self, found: Sequence[Candidate]) -> Kept | None:
        """What these files, which are all there are, came to; None where that is to be read anew."""
        try:
            kept = msgspec.msgpack.decode(self._file.read(), type=Kept)
            return kept if kept.key == self._key() and self.holds(kept, found) else None
        except (OSError, ValueError):  # none, or not ours; `msgspec.MsgspecError` is a ValueError
            return None

    def holds(self, kept: Kept, found: Sequence[Candidate]) -> bool:
        """Whether a reading now would come to the same. Raises ValueError for a damaged cache."""
        trace = kept.trace
        if trace.found != [str(candidate.path) for candidate in found] or not trace.holds():
            return False
        if not trace.approved:
            return True
        approvals = self._make_approvals() if self._make_approvals is not None else None
        return all(
            (approvals.digest(Path(path)) if approvals is not None else None) == digest
            for path, digest in trace.approved.items()
        )

    def keep(self, told: Told, trace: Trace) -> None:
        """Keeps what a reading came to, where the next would surely see what has changed. Never raises: what
        fails is logged."""
        if not (trace.is_whole and trace.is_sure()):
            return
        try:
            self._file.write(msgspec.msgpack.encode(Kept(self._key(), told, trace)))
        except (OSError, ValueError) as error:
            odd = "a name that is not UTF-8" if isinstance(error, UnicodeError) else error
            why = getattr(error, "strerror", None) or odd
            _LOG.info("the instructions are not kept for the next start: %s", why)

    def _key(self) -> tuple[str, ...]:
        places = self._places
        folders = (places.root, places.cwd, places.project, places.user, self._home, *self._include_roots)
        numbers = (_VERSION, os.geteuid(), FILE_BYTES, TOTAL_BYTES, MOST_INCLUDES, DEPTH)
        return (
            __version__,
            *map(str, numbers),
            *map(str, folders),
            *boundary_of((places.root, places.project, places.user, *self._include_roots)).roots,
        )


def pays(trace: Trace) -> bool:
    """Whether a reading is large enough to be kept."""
    return len(trace.signs) >= _WORTH
