"""The clock of a file system, which moves in steps."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LIMIT = 10.0


def await_new_time(folder: Path) -> None:
    """Waits until what is written bears a later time than what was written before: milliseconds."""
    probe = folder / ".time"
    probe.touch()
    os.utime(probe)
    before, end = probe.stat().st_ctime_ns, time.monotonic() + _LIMIT
    while probe.stat().st_ctime_ns == before:
        assert time.monotonic() < end, "the file system's clock stands still"
        os.utime(probe)
