"""Large tool results, each in a file of its own beside the conversation: ``tool-results/<call id>``."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from mewcode.core.codec import clean_text
from mewcode.infra.atomic import temporary_name
from mewcode.sessions.append_file import CAREFUL, FileCalls, write_all
from mewcode.sessions.wire import safe_call_id

TOOL_RESULTS = "tool-results"
"""The folder of the results, in the session's folder."""
_CHUNK = 1 << 20

Written = Callable[[int, int, tuple[Path, ...]], None]


def write_result(folder: Path, call_id: str, text: str, calls: FileCalls, written: Written) -> Path:
    """Writes the text of a call's result into its file (0600), as UTF-8, whole or not at all; its path.

    A file that holds this text already is left as it is. One that holds something else is too: this text
    then gets a name of its own. ``written`` is told what is to be made durable. Raises OSError.
    """
    results = folder / TOOL_RESULTS
    data = clean_text(text).encode()
    try:
        calls.make_folder(results)
    except FileExistsError:
        # A link that came with the folder must not lead what we write out of it.
        if not stat.S_ISDIR(os.stat(results, follow_symlinks=False).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(results)) from None
    path = results / safe_call_id(call_id)
    is_same = _holds(path, data)
    if is_same is False:
        path = path.with_name(f"{path.name}-{_mark(data)}")
        is_same = _holds(path, data)
    if not is_same:
        _write(path, data, calls, written)
    return path


def _write(path: Path, data: bytes, calls: FileCalls, written: Written) -> None:
    temporary = path.with_name(temporary_name(path.name))
    descriptor = calls.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        write_all(calls, descriptor, data)
        calls.rename(temporary, path)
        written(descriptor, 1, (path.parent, path.parent.parent))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _holds(path: Path, data: bytes) -> bool | None:
    """Whether the file holds just these bytes; None where there is none."""
    try:
        status = os.stat(path, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode) or status.st_size != len(data):
            return False
        descriptor = os.open(path, os.O_RDONLY | CAREFUL)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb", buffering=0) as stream:
        view = memoryview(data)
        while view:
            piece = stream.read(_CHUNK)
            if not piece or piece != view[: len(piece)]:
                return False
            view = view[len(piece) :]
    return True


def _mark(data: bytes) -> str:
    import hashlib  # only where two results have one id: never in what we made ourselves

    return hashlib.blake2b(data, digest_size=6).hexdigest()
