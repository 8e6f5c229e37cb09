"""One process at a time through a section of code, by a lock on a file beside what is changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mewcode.core.errors import ConfigError
from mewcode.infra.locks import try_lock

_PAUSE = 0.01


@contextmanager
def locked(path: Path, limit: float = 10.0) -> Iterator[None]:
    """Holds the lock file ``path`` (made 0600, never removed, so that two never hold different ones).

    Waits at most ``limit`` seconds for another holder, then raises ConfigError; raises OSError where the
    file cannot be made. Threads of one process exclude each other too. Not to be nested.
    Where the file system knows no locks, the write stays atomic and the last one wins.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        deadline = time.monotonic() + limit
        while not try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise ConfigError(
                    f"another process has held {path.name} for {limit:g} s", "Try again.", str(path)
                )
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(descriptor)
