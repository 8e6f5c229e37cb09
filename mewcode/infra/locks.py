"""A lock on an open file, which ends with the process that holds it, however that ends."""

from __future__ import annotations

import errno

# What flock says where the file system knows no locks (some FUSE and network ones).
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}


def try_lock(descriptor: int) -> bool:
    """Whether the exclusive lock on an open file was to be had; never waits. Closing the descriptor lets go.

    Each opening of the file counts for itself: two in one process exclude each other too. Where the file
    system has no locks all get it: who cannot bear that must not write there. Raises OSError otherwise.
    """
    import fcntl  # not there on Windows, where this module must still import

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True
