"""One writer of a level's notes at a time, whatever process it is in."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mewcode.core.errors import NotesBusy
from mewcode.infra.append_file import CAREFUL
from mewcode.infra.locks import try_lock

LOCK = ".lock"
WAIT = 30.0
"""Seconds that a writer waits for another."""
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.05
_SHORTEST_PAUSE = 0.005
_SOON = 0.1
"""Seconds in which most writers are done."""


@contextmanager
def locked(folder: Path, wait: float = WAIT) -> Iterator[None]:
    """Holds the lock of a folder. Raises NotesBusy when ``wait`` seconds have passed, and OSError. Threads of
    one process exclude each other too; not to be nested."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | CAREFUL, 0o600)
    try:
        began = time.monotonic()
        while not try_lock(descriptor):
            waited = time.monotonic() - began
            if waited >= wait:
                held = f"another process has held the notes in {folder} for {wait:g} s"
                raise NotesBusy(held, "Try again.")
            time.sleep(_pause(waited))
        yield
    finally:
        os.close(descriptor)


def _pause(waited: float) -> float:
    """Many writers that ask all the time would take the processor from the one that writes. Who has waited
    longer asks more often, so that nobody is left behind."""
    if waited < _SOON:
        return _FIRST_PAUSE
    return max(_SHORTEST_PAUSE, _LONGEST_PAUSE / (1 + waited))
