"""How a path that a model names becomes an open file, and nothing but that file.

The permission policy judged a resolved path. Between its word and the open, someone may put a symlink in the
way; so a resolved path is opened part by part, and a symlink anywhere on it is an error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mewcode.core.access import Access, ReadAccess, WriteAccess
from mewcode.core.errors import ToolError
from mewcode.tools.base import ToolSession

# O_PATH (Linux) needs no read permission on a folder that is merely passed through.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: to open a FIFO must not wait for a writer.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# A folder of a million entries is not searched for a similar name.
_NAMES_LOOKED_AT = 5000

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a symbolic link"),
)


def resolve_path(session: ToolSession, path: str, judged: Sequence[Access] | None = None) -> Path:
    """`ToolSession.resolve` with words for what cannot be resolved (`ToolError`). With ``judged`` also
    refuses a path that leads elsewhere than when the policy judged it."""
    if not path:
        raise ToolError("path is empty. Give the path of a file or folder.")
    try:
        resolved = session.resolve(path)
    except (RuntimeError, ValueError, OSError) as error:
        raise ToolError(f"{path!r} is no path that can be resolved: {error}") from error
    if judged is not None and not any(
        isinstance(access, ReadAccess | WriteAccess) and access.path == str(resolved) for access in judged
    ):
        raise ToolError(f"{path} leads elsewhere than when it was allowed. Look at it again.")
    return resolved


def judged_path(session: ToolSession, path: str) -> str:
    """The resolved path for the permission policy. Never raises: what cannot be resolved stays as written,
    made absolute, and `resolve_path` will refuse it."""
    try:
        return str(session.resolve(path))
    except (RuntimeError, ValueError, OSError):
        return os.path.normpath(os.path.join(session.cwd, path.replace("\0", "\ufffd")))


def show_path(session: ToolSession, path: str) -> str:
    """The path as a person reads it; never raises."""
    return session.display(Path(judged_path(session, path)))


@contextmanager
def explained(shown: str) -> Iterator[None]:
    """Turns an OSError within into a `ToolError` that names the file ``shown``."""
    try:
        yield
    except OSError as error:
        raise ToolError(_explain(error, shown)) from error


def _explain(error: OSError, shown: str) -> str:
    match error.errno:
        case errno.ENOENT:
            return f"{shown} does not exist."
        case errno.EACCES | errno.EPERM:
            return f"{shown}: permission denied by the operating system."
        case errno.ENOSPC | errno.EDQUOT:
            return f"{shown}: no space left on the disk. Nothing was changed."
        case errno.EROFS:
            return f"{shown} is on a read-only file system."
        case errno.ENAMETOOLONG:
            return f"{shown[:80]}…: the name is too long."
        case errno.ELOOP:
            return (
                f"{shown} became a symbolic link while the call was under way. Nothing was done; try again."
            )
        case errno.ENOTDIR:
            return f"{shown}: a part of this path is a file or a symbolic link, not a folder."
        case errno.EISDIR:
            return f"{shown} is a folder."
        case _:
            return f"{shown}: {error.strerror or error}."


def open_folder(folder: Path, *, make: bool = False) -> int:
    """A descriptor for ``dir_fd`` of a resolved folder, reached over no symlink. ``make`` creates what is
    missing, by the umask. Raises OSError; the caller closes."""
    descriptor = os.open(folder.anchor, _PASS)
    try:
        for name in folder.parts[1:]:
            inner = _enter(name, descriptor, make)
            os.close(descriptor)
            descriptor = inner
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _enter(name: str, parent: int, make: bool) -> int:
    try:
        return os.open(name, _PASS, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # another process may be faster
        os.mkdir(name, dir_fd=parent)
    return os.open(name, _PASS, dir_fd=parent)


@contextmanager
def parent_folder(path: Path, *, make: bool = False) -> Iterator[int]:
    """`open_folder` of the parent of a resolved path, closed at the end."""
    descriptor = open_folder(path.parent, make=make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def refuse_special(status: os.stat_result, shown: str) -> None:
    """Raises `ToolError` for all that is no regular file."""
    if stat.S_ISREG(status.st_mode):
        return
    kind = next((words for test, words in _KINDS if test(status.st_mode)), "no regular file")
    hint = " Use list_dir to see what is in it." if kind == "a folder" else " Only regular files can be used."
    raise ToolError(f"{shown} is {kind}.{hint}")


def refuse_no_folder(path: Path, shown: str) -> None:
    """Raises `ToolError` for a resolved path that exists and is no folder."""
    if not path.is_dir():
        raise ToolError(f"{shown} is a file, not a folder. Use read_file to see its text.")


@contextmanager
def open_regular(path: Path, shown: str) -> Iterator[tuple[int, os.stat_result]]:
    """Opens a resolved path for reading, and its state. Raises `ToolError` for what is no regular file,
    OSError for what cannot be opened. Devices and pipes are not even opened."""
    if not path.name:
        raise ToolError(f"{shown} is a folder. Use list_dir to see what is in it.")
    with parent_folder(path) as folder:
        refuse_special(os.stat(path.name, dir_fd=folder, follow_symlinks=False), shown)
        descriptor = os.open(path.name, _READ, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        refuse_special(status, shown)
        yield descriptor, status
    finally:
        os.close(descriptor)


def read_up_to(descriptor: int, limit: int) -> bytes:
    """At most ``limit`` bytes from where the descriptor stands, whatever size the file claims."""
    chunks: list[bytes] = []
    while limit > 0:
        chunk = os.read(descriptor, min(limit, 1 << 20))
        if not chunk:
            break
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)


def missing(session: ToolSession, path: Path) -> ToolError:
    """The error for a file that does not exist: names the nearest names in its folder, or the first folder
    on the way that is missing. Names are listed only within the workspace."""
    shown = session.display(path)
    folder = path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    if folder != path.parent:
        return ToolError(f"{shown} does not exist; {session.display(folder)} has no such folder in it.")
    near = _near_names(folder, path.name) if session.inside(folder) else []
    if not near:
        return ToolError(f"{shown} does not exist.")
    names = ", ".join(session.display(folder / name) for name in near)
    return ToolError(f"{shown} does not exist. Similar names there: {names}.")


def _near_names(folder: Path, name: str) -> list[str]:
    import difflib
    import unicodedata
    from itertools import islice

    def plain(text: str) -> str:
        return unicodedata.normalize("NFKC", text).casefold()

    try:
        with os.scandir(folder) as entries:
            names = {plain(entry.name): entry.name for entry in islice(entries, _NAMES_LOOKED_AT)}
    except OSError:  # a folder that cannot be listed has no names to offer
        return []
    return [names[key] for key in difflib.get_close_matches(plain(name), names, 5, 0.6)]
