"""Reads one file of instructions: whatever it is, in bounded time, as text or with the reason why not."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from pathlib import Path

import msgspec

from mewcode.instructions.limits import FILE_BYTES, cut_at_line

BINARY = "binary"
"""What `Unreadable` says of a file that holds no text."""
_PROBE = 512
"""Bytes in which a NUL tells that a file is binary."""
# UTF-16 takes up to two bytes where UTF-8 takes one, and the mark.
_MOST_BYTES = 2 * FILE_BYTES + 4
_REASONS = {
    errno.ENOENT: "not found",
    errno.ENOTDIR: "not found",
    errno.EACCES: "not readable",
    errno.EPERM: "not readable",
    errno.ELOOP: "a link that leads in a circle",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EISDIR: "a folder",
    errno.ENXIO: "not a regular file",
}


class InstructionFile(msgspec.Struct, frozen=True):
    """``where``: its resolved path. ``text``: with ``\\n`` as line ending, without a byte order mark, at most
    `FILE_BYTES`. ``size``: bytes of the file. ``is_cut``: there was more. ``warnings``: what the user should
    know of it."""

    where: str
    text: str
    size: int
    is_cut: bool
    warnings: tuple[str, ...]

    @property
    def path(self) -> Path:
        return Path(self.where)


class Unreadable(Exception):
    """A file that gives no text; the message says why, in a few words."""


def read_instruction_file(path: Path | str) -> InstructionFile:
    """Reads a resolved path. Raises `Unreadable` for what is missing, no regular file, or binary.

    A link that stands there by now is not followed, a FIFO or device not waited for; of a long file no more
    than the beginning is read.
    """
    try:
        status, data = _beginning(path)
    except OSError as error:
        raise Unreadable(_reason_of(error)) from error
    except ValueError as error:  # a NUL in the path
        raise Unreadable("not a file name") from error
    is_whole = status.st_size <= len(data)
    text, warnings = _decode(data, is_whole=is_whole)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = cut_at_line(text, FILE_BYTES)
    is_cut = not is_whole or len(kept) < len(text)
    return InstructionFile(str(path), kept, status.st_size, is_cut, tuple(warnings))


def _beginning(path: Path | str) -> tuple[os.stat_result, bytes]:
    """What the system says of a file, and at most `_MOST_BYTES` of it. Raises as `read_instruction_file`, and
    OSError and ValueError."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable("a folder")
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("not a regular file")
        return status, os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def _reason_of(error: OSError) -> str:
    """Why the system refused, in a few words."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def _decode(data: bytes, *, is_whole: bool) -> tuple[str, list[str]]:
    for mark, codec in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return _decode_as(data[len(mark) :], codec, is_whole=is_whole)
    if b"\0" in data[:_PROBE]:
        raise Unreadable(BINARY)
    return _decode_as(data, "utf-8", is_whole=is_whole)


def _decode_as(data: bytes, codec: str, *, is_whole: bool) -> tuple[str, list[str]]:
    try:
        if is_whole:
            return data.decode(codec), []
        return codecs.getincrementaldecoder(codec)().decode(data), []
    except UnicodeDecodeError:
        if codec != "utf-8":
            return data.decode(codec, "replace"), [f"not valid {codec.upper()}: bad characters are marked"]
    from charset_normalizer import from_bytes  # last resort, and slow to load

    best = from_bytes(data).best()
    if best is None:
        return data.decode("utf-8", "replace"), ["not valid UTF-8: bad characters are marked"]
    return str(best), [f"not valid UTF-8: read as {best.encoding}"]
