"""A workspace file is replaced whole or not at all, and stays the file it was: its mode, owner, extended
attributes and hard links."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from mewcode.core.errors import ToolError
from mewcode.infra.atomic import sync_dir, temporary_name, write_all
from mewcode.tools.file_access import parent_folder, refuse_special
from mewcode.tools.text_file import TextFile

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UPDATE = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(old: TextFile, data: bytes, shown: str) -> os.stat_result:
    """Puts ``data`` in place of ``old`` and returns the new state. Raises `ToolError` where the file is no
    longer the one that was read or may not be written, OSError otherwise; in each case the old text stands.

    A new file takes the place of the old by a rename. Where that would break hard links, lose the owner, or
    is not allowed in the folder, the file is written in place, with a copy of the old text beside it.
    """
    name = old.path.name
    with parent_folder(old.path) as folder:
        _refuse_other(old.status, folder, name, shown)
        if not os.access(name, os.W_OK, dir_fd=folder):
            raise ToolError(f"{shown} is read-only for this user; it is left as it is.")
        rename = old.status.st_nlink == 1 and os.access(".", os.W_OK | os.X_OK, dir_fd=folder)
        if not (rename and _by_rename(old, data, folder, shown)):
            _in_place(old, data, folder, shown)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


def create_file(path: Path, data: bytes, shown: str) -> os.stat_result:
    """Makes a file that does not exist, with its folders, by the umask, and returns its state. Raises
    `ToolError` where one appeared meanwhile, OSError otherwise; no half file is left."""
    with parent_folder(path, make=True) as folder:
        temporary = temporary_name(path.name)
        try:
            _write_new(temporary, data, folder, 0o666)
            _link_new(temporary, path.name, data, folder)
        except FileExistsError as error:
            raise ToolError(f"{shown} was made by someone else meanwhile. Read it first.") from error
        finally:
            _remove(temporary, folder)
        _sync_folder(folder)
        return os.stat(path.name, dir_fd=folder, follow_symlinks=False)


def _link_new(temporary: str, name: str, data: bytes, folder: int) -> None:
    """Gives the finished file its name, never over another. File systems without links get a plain create."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        _write_new(name, data, folder, 0o666)


def _write_new(name: str, data: bytes, folder: int, mode: int) -> None:
    descriptor = os.open(name, _CREATE, mode, dir_fd=folder)
    try:
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        _remove(name, folder)
        raise


def _by_rename(old: TextFile, data: bytes, folder: int, shown: str) -> bool:
    """False, with nothing done, where the new file could not have the old one's owner."""
    name, status = old.path.name, old.status
    temporary = temporary_name(name)
    descriptor = os.open(temporary, _CREATE, 0o600, dir_fd=folder)
    try:
        try:
            made = os.fstat(descriptor)
            if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
                try:
                    os.fchown(descriptor, status.st_uid, status.st_gid)
                except PermissionError:
                    return False
            write_all(descriptor, data)
            _copy_attributes(name, descriptor, folder)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _refuse_other(status, folder, name, shown)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        _remove(temporary, folder)
    _sync_folder(folder)
    return True


def _in_place(old: TextFile, data: bytes, folder: int, shown: str) -> None:
    """Writes over the file itself. A copy of the old text is on the disk before its first byte changes, and
    space for the new text is taken first; where writing fails all the same, the old text is put back."""
    descriptor = os.open(old.path.name, _UPDATE, dir_fd=folder)
    try:
        now = os.fstat(descriptor)
        if (now.st_dev, now.st_ino) != (old.status.st_dev, old.status.st_ino):
            raise _changed(shown)
        spare, spare_folder = _keep_copy(old, folder)
        try:
            whole = _overwrite_or_restore(descriptor, data, old.data)
        except BaseException:
            _remove(spare, spare_folder)  # nothing was written, or the old text is back
            raise
        if whole:
            _remove(spare, spare_folder)
            return
    finally:
        os.close(descriptor)
    kept = spare if spare_folder is None else str(old.path.with_name(spare))
    raise ToolError(f"{shown} could not be written whole, nor put back; its old text is in {kept}.")


def _overwrite_or_restore(descriptor: int, data: bytes, old: bytes) -> bool:
    """True once the new text stands. Where it cannot be written the old one is put back, and the error
    raised; False where that fails too."""
    _reserve(descriptor, len(data), len(old))
    try:
        _overwrite(descriptor, data)
    except BaseException:
        try:
            _overwrite(descriptor, old)
        except OSError:
            return False
        raise
    return True


def _keep_copy(old: TextFile, folder: int) -> tuple[str, int | None]:
    """A copy of the old text beside the file, else in the system's folder for temporary files."""
    name = temporary_name(old.path.name)
    try:
        _write_new(name, old.data, folder, 0o600)
    except PermissionError:
        import tempfile  # rare: the file may be written, its folder not

        descriptor, name = tempfile.mkstemp(prefix="mewcode-", suffix=".tmp")
        try:
            write_all(descriptor, old.data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return name, None
    return name, folder


def _reserve(descriptor: int, size: int, old_size: int) -> None:
    """Takes the space for a file that grows, so that a full disk shows before anything is written."""
    if size <= old_size or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        os.ftruncate(descriptor, old_size)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        # Some file systems cannot reserve; the copy of the old text must do.


def _overwrite(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _copy_attributes(name: str, descriptor: int, folder: int) -> None:
    """Extended attributes, access control lists among them, as far as this user and file system can."""
    if not hasattr(os, "listxattr"):  # macOS has them, Python there no call for them
        return
    try:
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:  # a file that may be written but not read; it was read before its mode changed
        return
    try:
        for key in os.listxattr(source):
            _copy_attribute(key, source, descriptor)
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
    finally:
        os.close(source)


def _copy_attribute(key: str, source: int, target: int) -> None:
    try:
        os.setxattr(target, key, os.getxattr(source, key))
    except OSError as error:
        # security.* and trusted.* belong to the administrator: the system gives the new file its own.
        if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENODATA, errno.EINVAL):
            raise


def _refuse_other(known: os.stat_result, folder: int, name: str, shown: str) -> None:
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError as error:
        raise _changed(shown) from error
    refuse_special(now, shown)
    if (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) != (
        known.st_dev,
        known.st_ino,
        known.st_size,
        known.st_mtime_ns,
    ):
        raise _changed(shown)


def _changed(shown: str) -> ToolError:
    return ToolError(f"{shown} was changed by someone else just now. Nothing was written; read it again.")


def _remove(name: str, folder: int | None) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:  # it has been renamed to what it was made for
        return


def _sync_folder(folder: int) -> None:
    """Makes a new name durable. ``folder`` may be a descriptor that cannot sync, so it is opened anew."""
    try:
        sync_dir(".", folder)
    except OSError:  # a folder that may be written but not listed
        return
