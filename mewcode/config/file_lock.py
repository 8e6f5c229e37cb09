"""One process at a time through a section of code, by a lock on a file beside what is changed."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mewcode.core.errors import ConfigError

_PAUSE = 0.01
# File systems that know no locks (some FUSE and network ones): the write stays atomic, the last one wins.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def locked(path: Path, limit: float = 10.0) -> Iterator[None]:
    """Holds the lock file ``path`` (made 0600, never removed, so that two never hold different ones).

    Waits at most ``limit`` seconds for another holder, then raises ConfigError; raises OSError where the
    file cannot be made. Threads of one process exclude each other too. Not to be nested.
    """
    import fcntl  # only who writes needs it

    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        deadline = time.monotonic() + limit
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise ConfigError(
                        f"another process has held {path.name} for {limit:g} s", "Try again.", str(path)
                    ) from error
                time.sleep(_PAUSE)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
                break
        yield
    finally:
        os.close(descriptor)
